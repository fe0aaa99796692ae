# BESSEMER_SANITIZE: the sanitizers that all of our code is compiled with. Kernels
# are machine code of our own compiler and MLIR is not instrumented, see
# "Sanitizers" in CONTRIBUTING.md.

if(BESSEMER_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
  set(CMAKE_C_FLAGS_RELEASE "-O1 -g1")
  # -Wmaybe-uninitialized misjudges instrumented code.
  add_compile_options(-fsanitize=${BESSEMER_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${BESSEMER_SANITIZE})
  # Clang reads a type before the entry of what a pointer calls; our kernels have
  # none.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND BESSEMER_SANITIZE MATCHES "address")
    # One runtime for the programs, the libraries and a Python that preloads it.
    # It must be loaded before what it watches, so it is the first on the line.
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-x86_64.so
      OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE sanitizer_runtime)
    get_filename_component(sanitizer_folder ${sanitizer_runtime} DIRECTORY)
    add_link_options(-shared-libasan ${sanitizer_runtime} -Wl,-rpath,${sanitizer_folder})
  endif()
endif()
if(BESSEMER_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BESSEMER_BUILD_FUZZERS: expected clang, found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # Coverage of everything; only the harnesses get libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
