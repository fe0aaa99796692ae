/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The C API of the runtime: load an artifact, run its functions, read and
 * write its state. bessemer.hpp wraps it for C++. To link:
 *   CMake        find_package(BessemerRuntime), target Bessemer::runtime
 *   pkg-config   bessemer-runtime
 *
 * Failure. Functions that can fail return BSM_OK or a status;
 * bsm_error_message() then gives one line about this thread's last failure.
 * Results behind pointers are written on success only, a handle is set to NULL
 * on failure. No exception crosses this API and no input makes it abort.
 *
 * Handles. A null handle, one that was freed and one of another kind are
 * errors (BSM_USAGE), so a double free is one too. Freeing NULL does nothing.
 *
 * Tensors are DLPack's, on the CPU, dense and row-major. Names and views point
 * into the program or the session and live as long as it does, the elements of
 * a view until the next run or write; the functions with `_copy` in their name
 * give tensors that own their memory.
 *
 * Threads. Programs may be shared by threads, and several sessions, also of
 * one program, may run at once: code and constants are shared, state and
 * temporaries are each session's own. A session serves one thread at a time; a
 * call that meets another one in it fails with BSM_USAGE and does nothing. */
#ifndef BESSEMER_BESSEMER_H
#define BESSEMER_BESSEMER_H

#include "bessemer/dlpack.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BSM_API __attribute__((visibility("default")))

/* The version of these headers. Libraries of the same major version serve
 * programs that were compiled with an older minor one. */
#define BSM_VERSION_MAJOR 0
#define BSM_VERSION_MINOR 1
#define BSM_VERSION_PATCH 0

typedef enum {
  BSM_OK = 0,
  /* The input's fault: a damaged file, a wrong name, shape or type. */
  BSM_INVALID_INPUT = 1,
  /* The caller's: a null or freed handle, an index out of range, a device that
   * does not exist, a session that another thread is using. */
  BSM_USAGE = 2,
  /* Our bug, or the machine ran out of something. */
  BSM_INTERNAL = 70
} bsm_status;

typedef struct bsm_program bsm_program;
typedef struct bsm_session bsm_session;

/* What a call tells the device besides its inputs. */
typedef struct {
  /* Counts calls from 0; drives random numbers. */
  uint64_t step;
  uint64_t seed;
  uint32_t flags;
  float learning_rate;
  /* Rows of the batch that count; the others are padding. */
  int64_t valid_rows;
} bsm_step;

/* The last failure of this thread; empty when there was none. */
BSM_API const char *bsm_error_message(void);

/* The library's own version, "0.1.0". */
BSM_API const char *bsm_version(void);
/* The newest artifacts it reads: those of the same major and at most this
 * minor version. */
BSM_API void bsm_artifact_version(unsigned *major, unsigned *minor);

/* Programs. A session keeps its program alive, so either may be freed first. */
BSM_API bsm_status bsm_program_load(const char *path, bsm_program **program);
/* Copies the bytes; `name` stands for the path in errors (NULL: "<memory>"). */
BSM_API bsm_status bsm_program_load_memory(const void *bytes, size_t size,
                                           const char *name,
                                           bsm_program **program);
/* Hashes every blob now; otherwise each is when it is first used. */
BSM_API bsm_status bsm_program_verify(const bsm_program *program);
BSM_API bsm_status bsm_program_free(bsm_program *program);

/* What a program holds. Counts of a bad handle are 0 and strings NULL, as are
 * strings whose index or key does not exist. */
BSM_API size_t bsm_program_function_count(const bsm_program *program);
BSM_API const char *bsm_program_function_name(const bsm_program *program,
                                              size_t index);
/* Name and version of the compiler. */
BSM_API const char *bsm_program_producer(const bsm_program *program);
/* The targets it has code for, e.g. "x86-64-v4". */
BSM_API size_t bsm_program_target_count(const bsm_program *program);
BSM_API const char *bsm_program_target(const bsm_program *program,
                                       size_t index);
/* How the program was compiled, e.g. "loss". */
BSM_API size_t bsm_program_setting_count(const bsm_program *program);
BSM_API const char *bsm_program_setting_key(const bsm_program *program,
                                            size_t index);
BSM_API const char *bsm_program_setting(const bsm_program *program,
                                        const char *key);

/* The signature of a function; 0 values when there is no such function. */
BSM_API size_t bsm_function_input_count(const bsm_program *program,
                                        const char *function);
BSM_API size_t bsm_function_output_count(const bsm_program *program,
                                         const char *function);
/* Name and type of one input or output; `type` gets no data. */
BSM_API bsm_status bsm_function_input(const bsm_program *program,
                                      const char *function, size_t index,
                                      const char **name, DLTensor *type);
BSM_API bsm_status bsm_function_output(const bsm_program *program,
                                       const char *function, size_t index,
                                       const char **name, DLTensor *type);

typedef struct {
  const char *name;
  /* "parameter", "moment", "statistic", "scaler", "rng" or "counter". */
  const char *role;
  /* Why it has this role and is (not) trained. */
  const char *why;
  int trainable;
  /* Without data. */
  DLTensor type;
} bsm_state_info;

BSM_API size_t bsm_program_state_count(const bsm_program *program);
BSM_API bsm_status bsm_program_state(const bsm_program *program, size_t index,
                                     bsm_state_info *info);

/* Sessions. `device` is "cpu" (NULL means that) or one of its targets, as in
 * "cpu:x86-64-v3"; up to 4096 threads, 0: one per core that the process may
 * use. Results of generated kernels do not depend on the number. */
BSM_API bsm_status bsm_session_create(const bsm_program *program,
                                      const char *device, int threads,
                                      bsm_session **session);
BSM_API bsm_status bsm_session_free(bsm_session *session);

/* What the session runs with; 0 and NULL for a bad handle. */
BSM_API int bsm_session_threads(const bsm_session *session);
BSM_API const char *bsm_session_target(const bsm_session *session);

/* Bytes that a session holds. */
typedef struct {
  uint64_t state;
  uint64_t temporaries;
  /* Buffers of outputs, and of inputs that had to be copied. */
  uint64_t values;
  uint64_t scratch;
} bsm_memory;

BSM_API bsm_status bsm_session_memory(const bsm_session *session,
                                      bsm_memory *memory);

/* Runs a function on inputs in any order; all must be given, with the type and
 * shape of the signature, and indices and labels within their ranges (also in
 * rows that are padding). Their data is used where it lies, but for views of
 * states and of the function's last results, which are copied. `step` NULL:
 * zeros. */
BSM_API bsm_status bsm_session_run(bsm_session *session, const char *function,
                                   size_t input_count,
                                   const char *const *input_names,
                                   const DLTensor *inputs,
                                   const bsm_step *step);
/* A result of the function's last run. */
BSM_API bsm_status bsm_session_output(const bsm_session *session,
                                      const char *function, const char *name,
                                      DLTensor *output);
BSM_API bsm_status bsm_session_output_copy(const bsm_session *session,
                                           const char *function,
                                           const char *name,
                                           DLManagedTensor **output);

/* State: parameters, moments, statistics, counters, by name. */
BSM_API size_t bsm_state_count(const bsm_session *session);
BSM_API const char *bsm_state_name(const bsm_session *session, size_t index);
/* A view of the state; do not write through it. */
BSM_API bsm_status bsm_state_get(const bsm_session *session, const char *name,
                                 DLTensor *value);
BSM_API bsm_status bsm_state_copy(const bsm_session *session, const char *name,
                                  DLManagedTensor **value);
/* Copies the value in. */
BSM_API bsm_status bsm_state_set(bsm_session *session, const char *name,
                                 const DLTensor *value);
/* Gives every state its initial value. */
BSM_API bsm_status bsm_session_reset(bsm_session *session);

/* Checkpoints: a directory with all state, written whole or not at all. A load
 * that fails changes nothing. */
BSM_API bsm_status bsm_session_save(const bsm_session *session,
                                    const char *directory);
BSM_API bsm_status bsm_session_load(bsm_session *session,
                                    const char *directory);
/* Takes parameters and statistics alone, by name, from a checkpoint of the
 * same model with any optimizer; moments and counters stay as they are. */
BSM_API bsm_status bsm_session_load_weights(bsm_session *session,
                                            const char *directory);

#ifdef __cplusplus
}
#endif

#endif /* BESSEMER_BESSEMER_H */
