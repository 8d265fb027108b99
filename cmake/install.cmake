# cmake --install: headers, both libraries, the command line, find_package(knuckle) and pkg-config.
include(CMakePackageConfigHelpers)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/knuckle)

install(DIRECTORY include/knuckle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
set_target_properties(knuckle_shared PROPERTIES EXPORT_NAME knuckle)
set_target_properties(knuckle_static PROPERTIES EXPORT_NAME static)
install(TARGETS knuckle_shared knuckle_static EXPORT knuckle LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# No empty element in the search path of libraries: the loader takes one for the current folder. CMake leaves one as
# room for another path at installation, so the path is that of the installation from the start.
set_target_properties(knuckle_shared PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
install(EXPORT knuckle NAMESPACE knuckle:: DESTINATION ${config} FILE knuckleTargets.cmake)
configure_package_config_file(cmake/knuckleConfig.cmake.in ${CMAKE_BINARY_DIR}/knuckleConfig.cmake
  INSTALL_DESTINATION ${config})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/knuckleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/knuckleConfig.cmake ${CMAKE_BINARY_DIR}/knuckleConfigVersion.cmake
  DESTINATION ${config})

set(private_libs)
foreach(library ${KN_LINK_ONLY})
  string(APPEND private_libs " ${library}")
endforeach()
# By their flags, not as Requires.private: pkg-config asks for such modules even where only the shared library is linked.
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs ${KN_PC} OUTPUT_VARIABLE module_libs
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(APPEND private_libs " ${module_libs}")
file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
configure_file(cmake/knuckle.pc.in ${CMAKE_BINARY_DIR}/knuckle.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/knuckle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Manual pages and completions are written by the command line; so is their list. Licence and citation go to share/doc.
if(KN_CLI)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share.stamp
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/manuals.sh $<TARGET_FILE:knuckle> ${CMAKE_BINARY_DIR}/share
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/share.stamp
    DEPENDS knuckle ${PROJECT_SOURCE_DIR}/scripts/manuals.sh VERBATIM)
  add_custom_target(manuals ALL DEPENDS ${CMAKE_BINARY_DIR}/share.stamp)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})
endif()
install(FILES LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})

# make deb: one package with library, headers and command line; what it needs is found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Knuckle's authors <knuckle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Contact and collision dynamics of articulated rigid bodies")
set(CPACK_PACKAGE_DESCRIPTION "Hard contact solved to a residual, a verdict with every step, bit-identical runs:
 a C library with headers, and the command line knuckle.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "librsvg2-bin, libdsdp-5.8gf") # pictures; certify --lmi
include(CPack)
