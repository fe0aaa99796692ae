// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler behind a C interface, so that `bessemer` and the Python package
// open libbessemer_compiler.so only when they compile or export.
//
// No null pointer is followed: a call without options or without a place for
// the result fails with BSC_USAGE_ERROR, and a null result holds nothing.

#ifndef BESSEMER_COMPILER_H
#define BESSEMER_COMPILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BSC_API __attribute__((visibility("default")))

/// Exit statuses shared with the command line.
enum bsc_status {
  BSC_OK = 0,
  BSC_INPUT_ERROR = 1,
  BSC_USAGE_ERROR = 2,
  BSC_INTERNAL_ERROR = 70
};

typedef struct bsc_result bsc_result;

/// Compiles an ONNX model. `options_json` holds the recipe (keys of the
/// command line, see include/bessemer/Pipelines/CompileOptions.h). When
/// `model_bytes` is null the model is read from options "model". Returns a
/// bsc_status; `*result` is set in every case and freed by bsc_result_free.
BSC_API int bsc_compile(const char *options_json, const void *model_bytes,
                        size_t model_size, bsc_result **result);

/// Writes a trained .onnx: options "artifact" (path or null with
/// `artifact_bytes`), "checkpoint" (safetensors file), "output" (path).
BSC_API int bsc_export(const char *options_json, const void *artifact_bytes,
                       size_t artifact_size, bsc_result **result);

/// The artifact's bytes, owned by the result; null when there is none.
BSC_API const void *bsc_result_artifact(const bsc_result *result, size_t *size);

/// What `--emit` asked for, or "".
BSC_API const char *bsc_result_text(const bsc_result *result);

/// One warning per line, or "".
BSC_API const char *bsc_result_warnings(const bsc_result *result);

/// The error (one line per problem), or "".
BSC_API const char *bsc_result_error(const bsc_result *result);

BSC_API void bsc_result_free(bsc_result *result);

#ifdef __cplusplus
}
#endif

#endif // BESSEMER_COMPILER_H
