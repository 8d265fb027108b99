# The library, one object library per layer (docs/design in README: includes point down this list only).
# Sources are found by folder, so adding a file needs no edit here.
set(KN_LAYERS base math spatial comp law model load dynamics collide contact step record api)

set(KN_OBJECTS)
foreach(layer ${KN_LAYERS})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c ${PROJECT_SOURCE_DIR}/src/${layer}/*/*.c)
  if(sources)
    add_library(kn_${layer} OBJECT ${sources})
    kn_isa_flags(${sources})
    target_include_directories(kn_${layer} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(kn_${layer} PRIVATE KN_BUILDING)
    target_link_libraries(kn_${layer} PRIVATE kn_flags)
    list(APPEND KN_OBJECTS $<TARGET_OBJECTS:kn_${layer}>)
  endif()
endforeach()

# Each library is seen by the layers that use it (headers and KN_HAVE_…), by no other.
kn_uses(law DSDP)
kn_uses(model QHULL)
kn_uses(load HDF5 FYAML ASSIMP)
kn_uses(dynamics SUNDIALS)
kn_uses(record HDF5 ZSTD RECORD)
kn_uses(api HDF5 SUNDIALS DSDP ASSIMP FYAML ZSTD RECORD QHULL)
target_include_directories(kn_law SYSTEM PRIVATE ${KN_DSDP_INCLUDES})
target_include_directories(kn_load SYSTEM PRIVATE ${HDF5_C_INCLUDE_DIRS} ${EXPAT_INCLUDE_DIRS} ${FYAML_INCLUDE_DIRS}
  ${ASSIMP_INCLUDE_DIRS})
target_include_directories(kn_record SYSTEM PRIVATE ${ZSTD_INCLUDE_DIRS})

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
