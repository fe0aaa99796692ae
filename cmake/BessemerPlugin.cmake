# Functions for projects that extend Bessemer.

# bessemer_add_plugin(NAME sources... [DEPENDS targets...]): a shared library
# that the compiler opens with --pass-plugin.
function(bessemer_add_plugin name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES PREFIX "")
  target_compile_features(${name} PRIVATE cxx_std_20)
  # Headers that mlir-tblgen makes lie beside the build.
  target_include_directories(${name} PRIVATE
    ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE Bessemer::compiler MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# bessemer_add_lit_tests(TARGET FOLDER PLUGIN name): a target that runs the
# `.mlir` tests of FOLDER. They find bessemer-opt, FileCheck and `%plugin`.
function(bessemer_add_lit_tests target folder)
  cmake_parse_arguments(ARG "" "PLUGIN" "" ${ARGN})
  find_program(LIT NAMES lit llvm-lit REQUIRED)
  get_filename_component(folder ${folder} ABSOLUTE)
  set(run ${CMAKE_CURRENT_BINARY_DIR}/${target}-lit)
  file(MAKE_DIRECTORY ${run})
  file(GENERATE OUTPUT ${run}/lit.cfg.py CONTENT
"import lit.formats
import os
config.name = '${PROJECT_NAME}'
config.test_format = lit.formats.ShTest()
config.suffixes = ['.mlir']
config.test_source_root = r'${folder}'
config.test_exec_root = r'${run}/output'
config.environment['PATH'] = os.pathsep.join(
    [r'${Bessemer_TOOLS_DIR}', r'${LLVM_TOOLS_BINARY_DIR}', os.environ['PATH']])
config.substitutions.append(('%plugin', r'$<TARGET_FILE:${ARG_PLUGIN}>'))
")
  add_custom_target(${target} COMMAND ${LIT} -v ${run} DEPENDS ${ARG_PLUGIN} USES_TERMINAL)
endfunction()
