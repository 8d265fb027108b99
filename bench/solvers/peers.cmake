# The generator of contact problems is shared with the tests.
target_sources(bench_solvers PRIVATE ${PROJECT_SOURCE_DIR}/test/support/contact_gen.c
  ${PROJECT_SOURCE_DIR}/test/support/cone_problems.c)
target_include_directories(bench_solvers PRIVATE ${PROJECT_SOURCE_DIR}/test/support)
