# Pinocchio is templates compiled here: give it this machine's instructions, as its users do.
if(TARGET bench_dynamics_pinocchio)
  target_compile_options(bench_dynamics_pinocchio PRIVATE -O3 -march=native -DNDEBUG)
endif()
if(TARGET bench_dynamics_bullet) # principal axes of the links
  target_include_directories(bench_dynamics_bullet SYSTEM PRIVATE /usr/include/eigen3)
endif()
