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
endif()
if(BESSEMER_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BESSEMER_BUILD_FUZZERS: expected clang, found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # Coverage of everything; only the harnesses get libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
