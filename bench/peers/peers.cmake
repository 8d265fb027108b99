if(TARGET bench_peers_bullet) # principal axes of the bodies
  target_include_directories(bench_peers_bullet SYSTEM PRIVATE /usr/include/eigen3)
endif()
