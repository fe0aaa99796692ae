# Headers, libraries, the CMake package BessemerRuntime and the pkg-config file.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/BessemerRuntime)
set_target_properties(bessemer_runtime_shared PROPERTIES EXPORT_NAME runtime)
set_target_properties(bessemer_runtime PROPERTIES EXPORT_NAME runtime_static)

install(TARGETS bessemer_runtime_shared EXPORT BessemerRuntimeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
# The archive is for programs that link all of the runtime into themselves.
install(TARGETS bessemer_runtime EXPORT BessemerRuntimeStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(FILES include/bessemer/bessemer.h include/bessemer/bessemer.hpp include/bessemer/dlpack.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bessemer COMPONENT runtime)
foreach(set "" Static)
  install(EXPORT BessemerRuntime${set}Targets NAMESPACE Bessemer::
    DESTINATION ${package_folder} COMPONENT runtime)
endforeach()

configure_package_config_file(BessemerRuntimeConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/BessemerRuntimeConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/BessemerRuntimeConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(private_libs "-lz -ldl -pthread -lstdc++")
if(BESSEMER_OPENMP)
  string(APPEND private_libs " -fopenmp")
endif()
configure_file(bessemer-runtime.pc.in bessemer-runtime.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/BessemerRuntimeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/BessemerRuntimeConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT runtime)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/bessemer-runtime.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
