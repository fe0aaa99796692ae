# What passes and ops outside of this tree need: the public headers and td files,
# the generated ones, the library, bessemer-opt, and find_package(Bessemer), for
# the installed prefix and for the build tree.
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Bessemer)

# Public are the dialects, the interfaces of the stages and the pipeline.
foreach(folder Dialect Pipelines Reference Training)
  install(DIRECTORY include/bessemer/${folder} DESTINATION ${headers}/bessemer COMPONENT compiler
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
endforeach()
foreach(file Import/CustomOp.h Import/Import.h Fusion/Passes.h Fusion/Passes.td Memory/Passes.h
             Memory/Passes.td bessemer_compiler.h)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES include/bessemer/${file} DESTINATION ${headers}/bessemer/${folder} COMPONENT compiler)
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/bessemer DESTINATION ${headers} COMPONENT compiler
  FILES_MATCHING PATTERN "*.h.inc" PATTERN "Version.h"
  PATTERN "CMakeFiles" EXCLUDE PATTERN "Format" EXCLUDE)

set_target_properties(bessemer_compiler PROPERTIES EXPORT_NAME compiler)
install(TARGETS bessemer_compiler EXPORT BessemerTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(TARGETS bessemer-opt bessemer-reduce RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
install(EXPORT BessemerTargets NAMESPACE Bessemer:: DESTINATION ${package} COMPONENT compiler)

write_basic_package_version_file(${CMAKE_BINARY_DIR}/BessemerConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
function(configure_package folder prefix include generated tools)
  set(BESSEMER_INCLUDE ${include})
  set(BESSEMER_GENERATED_INCLUDE ${generated})
  set(BESSEMER_TOOLS ${tools})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/BessemerConfig.cmake.in
    ${folder}/BessemerConfig.cmake INSTALL_DESTINATION ${package}
    INSTALL_PREFIX ${prefix} PATH_VARS BESSEMER_INCLUDE BESSEMER_TOOLS)
endfunction()

# The prefix.
configure_package(${CMAKE_BINARY_DIR}/package ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_INCLUDEDIR} ""
  ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_BINARY_DIR}/package/BessemerConfig.cmake
  ${CMAKE_BINARY_DIR}/BessemerConfigVersion.cmake ${CMAKE_SOURCE_DIR}/cmake/BessemerPlugin.cmake
  DESTINATION ${package} COMPONENT compiler)

# The build tree.
set(tree ${CMAKE_BINARY_DIR}/${package})
configure_package(${tree} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include
  ${CMAKE_BINARY_DIR}/bin)
configure_file(${CMAKE_BINARY_DIR}/BessemerConfigVersion.cmake ${tree}/BessemerConfigVersion.cmake COPYONLY)
configure_file(${CMAKE_SOURCE_DIR}/cmake/BessemerPlugin.cmake ${tree}/BessemerPlugin.cmake COPYONLY)
export(EXPORT BessemerTargets NAMESPACE Bessemer:: FILE ${tree}/BessemerTargets.cmake)
