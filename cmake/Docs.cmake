# ninja docs: the reference of dialects and passes, from their td files, in
# docs/ of the build folder. The examples in it are tests
# (test/e2e/test_doc_examples.py).
find_program(MLIR_TBLGEN mlir-tblgen HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
file(GLOB_RECURSE definitions CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/bessemer/*.td)
set(pages)
function(add_page name source generator)
  set(page ${CMAKE_BINARY_DIR}/docs/${name}.md)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/docs
    COMMAND ${MLIR_TBLGEN} ${generator} ${ARGN} -I ${CMAKE_SOURCE_DIR}/include
            -I ${MLIR_INCLUDE_DIRS} ${CMAKE_SOURCE_DIR}/include/bessemer/${source} -o ${page}
    DEPENDS ${definitions})
  set(pages ${pages} ${page} PARENT_SCOPE)
endfunction()

add_page(graph Dialect/Graph/IR/GraphOps.td -gen-dialect-doc -dialect=graph)
add_page(kern Dialect/Kern/IR/KernOps.td -gen-dialect-doc -dialect=kern)
add_page(exec Dialect/Exec/IR/ExecOps.td -gen-dialect-doc -dialect=exec)
add_page(interfaces Dialect/Graph/IR/GraphInterfaces.td -gen-op-interface-docs)
foreach(stage Training Fusion Memory)
  string(TOLOWER ${stage} name)
  add_page(passes-${name} ${stage}/Passes.td -gen-pass-doc)
endforeach()
add_custom_target(docs DEPENDS ${pages})
