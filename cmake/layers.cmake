# The library, one object library per layer (docs/design in README: includes point down this list only).
# Sources are found by folder, so adding a file needs no edit here.
set(KN_LAYERS base math spatial comp law model load dynamics collide contact step pool record api)

# A file NAME_kernel.c is compiled once for each instruction set, with KN_ISA set (src/base/isa.h), and reached by
# run-time dispatch only. Elsewhere than on x86-64 there is the base set only.
set(KN_ISA_FLAGS_base "")
set(KN_ISA_FLAGS_avx2 -mavx2 -mbmi2)
set(KN_ISA_FLAGS_avx512 -mavx2 -mbmi2 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mprefer-vector-width=512)
set(KN_ISAS base)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(KN_ISAS base avx2 avx512)
endif()

# kn_layer_target(NAME SOURCES…): one object library of a layer, with the flags and headers all of them have.
function(kn_layer_target name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE KN_BUILDING)
  target_link_libraries(${name} PRIVATE kn_flags)
endfunction()

# The kernels of a layer, one object library for each instruction set.
function(kn_layer_kernels layer)
  set(level 0)
  foreach(isa ${KN_ISAS})
    set(target kn_${layer}_${isa})
    kn_layer_target(${target} ${ARGN})
    target_compile_definitions(${target} PRIVATE KN_ISA=${level})
    target_compile_options(${target} PRIVATE ${KN_ISA_FLAGS_${isa}})
    if(CMAKE_C_COMPILER_ID STREQUAL GNU) # loops over some rows stay loops: a call of memset or memcpy also empties wide registers
      target_compile_options(${target} PRIVATE -fno-tree-loop-distribute-patterns)
    endif()
    if(layer STREQUAL dynamics AND isa STREQUAL avx512 AND CMAKE_C_COMPILER_ID STREQUAL GNU)
      # 32 registers: order before they are given out, 3 to 5 % faster
      target_compile_options(${target} PRIVATE -fschedule-insns -fsched-pressure)
    endif()
    math(EXPR level "${level} + 1")
  endforeach()
endfunction()

set(KN_OBJECTS)
foreach(layer ${KN_LAYERS})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c ${PROJECT_SOURCE_DIR}/src/${layer}/*/*.c)
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "_kernel\\.c$")
  list(FILTER sources EXCLUDE REGEX "_kernel\\.c$")
  set(KN_OBJECTS_${layer})
  if(sources)
    kn_layer_target(kn_${layer} ${sources})
    list(APPEND KN_OBJECTS_${layer} $<TARGET_OBJECTS:kn_${layer}>)
  endif()
  if(kernels)
    kn_layer_kernels(${layer} ${kernels})
    foreach(isa ${KN_ISAS})
      list(APPEND KN_OBJECTS_${layer} $<TARGET_OBJECTS:kn_${layer}_${isa}>)
    endforeach()
  endif()
  list(APPEND KN_OBJECTS ${KN_OBJECTS_${layer}})
endforeach()
file(GLOB_RECURSE straight ${PROJECT_SOURCE_DIR}/src/dynamics/dynamics_kernel.c) # straight-line code for 3-vectors:
set_property(SOURCE ${straight} APPEND PROPERTY COMPILE_OPTIONS -fno-tree-slp-vectorize) # pairing its scalars only adds moves

# Each library is seen by the layers that use it (headers and KN_HAVE_…), by no other.
kn_uses(law DSDP)
kn_uses(model QHULL)
kn_uses(load HDF5 FYAML ASSIMP)
kn_uses(dynamics SUNDIALS)
kn_uses(record HDF5 ZSTD RECORD)
kn_uses(api HDF5 SUNDIALS DSDP ASSIMP FYAML ZSTD RECORD QHULL)
target_include_directories(kn_law SYSTEM PRIVATE ${KN_DSDP_INCLUDES})
target_compile_definitions(kn_law PRIVATE KN_DSDP_FILE="${KN_DSDP_FILE}")
target_include_directories(kn_load SYSTEM PRIVATE ${HDF5_C_INCLUDE_DIRS} ${EXPAT_INCLUDE_DIRS} ${FYAML_INCLUDE_DIRS}
  ${ASSIMP_INCLUDE_DIRS})
target_include_directories(kn_record SYSTEM PRIVATE ${ZSTD_INCLUDE_DIRS} ${HDF5_C_INCLUDE_DIRS})

add_library(knuckle_static STATIC ${KN_OBJECTS})
add_library(knuckle_shared SHARED ${KN_OBJECTS})
foreach(lib knuckle_static knuckle_shared)
  set_target_properties(${lib} PROPERTIES OUTPUT_NAME knuckle VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(${lib} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(knuckle_static PUBLIC $<BUILD_INTERFACE:kn_flags> ${KN_DEPS})
target_link_libraries(knuckle_shared PRIVATE kn_flags ${KN_DEPS} INTERFACE m) # m: what uses a mechanics library computes
