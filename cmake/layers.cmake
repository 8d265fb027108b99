# The library, one object library per layer (docs/design in README: includes point down this list only).
# Sources are found by folder, so adding a file needs no edit here.
set(KN_LAYERS base math spatial comp law model load dynamics collide contact step record api)

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(FYAML REQUIRED IMPORTED_TARGET libfyaml)
pkg_check_modules(LAPACKE REQUIRED IMPORTED_TARGET lapacke)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(ASSIMP IMPORTED_TARGET assimp)
find_package(HDF5 REQUIRED COMPONENTS C)
find_library(QHULL_LIBRARY NAMES qhull_r REQUIRED)
find_library(DSDP_LIBRARY NAMES dsdp dsdp-5.8) # optional: the certificate's independent check, never inside a step
find_path(DSDP_INCLUDE_DIR dsdp/dsdp5.h)
find_library(SUNDIALS_ARKODE NAMES sundials_arkode REQUIRED)
find_library(SUNDIALS_NVECSERIAL NAMES sundials_nvecserial REQUIRED)
find_library(SUNDIALS_GENERIC NAMES sundials_generic)

set(KN_DEPS PkgConfig::EXPAT PkgConfig::ZSTD PkgConfig::JANSSON PkgConfig::FYAML PkgConfig::LAPACKE
  PkgConfig::OPENBLAS ${HDF5_C_LIBRARIES} ${QHULL_LIBRARY} ${SUNDIALS_ARKODE}
  ${SUNDIALS_NVECSERIAL} Threads::Threads m)

if(ASSIMP_FOUND)
  list(APPEND KN_DEPS PkgConfig::ASSIMP)
endif()
set(KN_DSDP)
if(DSDP_LIBRARY AND DSDP_INCLUDE_DIR)
  set(KN_DSDP ${DSDP_LIBRARY})
  list(PREPEND KN_DEPS ${KN_DSDP})
endif()

set(KN_OBJECTS)
foreach(layer ${KN_LAYERS})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c ${PROJECT_SOURCE_DIR}/src/${layer}/*/*.c)
  if(sources)
    add_library(kn_${layer} OBJECT ${sources})
    kn_isa_flags(${sources})
    target_include_directories(kn_${layer} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
      ${HDF5_C_INCLUDE_DIRS})
    target_compile_definitions(kn_${layer} PRIVATE KN_BUILDING)
    target_link_libraries(kn_${layer} PRIVATE kn_flags PkgConfig::EXPAT PkgConfig::ZSTD PkgConfig::JANSSON
      PkgConfig::FYAML PkgConfig::LAPACKE)
    list(APPEND KN_OBJECTS $<TARGET_OBJECTS:kn_${layer}>)
  endif()
endforeach()

if(ASSIMP_FOUND AND TARGET kn_load)
  target_compile_definitions(kn_load PRIVATE KN_HAVE_ASSIMP)
  target_include_directories(kn_load SYSTEM PRIVATE ${ASSIMP_INCLUDE_DIRS})
endif()

if(KN_DSDP)
  target_compile_definitions(kn_law PRIVATE KN_HAVE_DSDP)
  target_include_directories(kn_law SYSTEM PRIVATE ${DSDP_INCLUDE_DIR})
endif()

add_library(knuckle_static STATIC ${KN_OBJECTS})
add_library(knuckle_shared SHARED ${KN_OBJECTS})
foreach(lib knuckle_static knuckle_shared)
  set_target_properties(${lib} PROPERTIES OUTPUT_NAME knuckle VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(${lib} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(knuckle_static PUBLIC $<BUILD_INTERFACE:kn_flags> ${KN_DEPS})
target_link_libraries(knuckle_shared PRIVATE kn_flags ${KN_DEPS})
