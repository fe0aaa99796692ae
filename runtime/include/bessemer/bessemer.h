/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The C API of the runtime: load an artifact, run its functions, read and
 * write its state. Link with -lbessemer_runtime.
 *
 * Functions that can fail return BSM_OK or a status; bsm_error_message() then
 * gives one line about this thread's last failure. No exception crosses this
 * API. Tensors are DLPack's, on the CPU, dense and row-major. Views point into
 * the program or the session and live as long as it does, their elements until
 * the next run or write. One thread at a time may use a session; programs may
 * be shared by threads, and several sessions may run at once. */
#ifndef BESSEMER_BESSEMER_H
#define BESSEMER_BESSEMER_H

#include "bessemer/dlpack.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BSM_API __attribute__((visibility("default")))

typedef enum {
  BSM_OK = 0,
  /* The input's fault: a damaged file, a wrong name, shape or type. */
  BSM_INVALID_INPUT = 1,
  /* Something that does not exist was asked for, e.g. a device. */
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

/* Programs. A session keeps its program alive, so either may be freed first. */
BSM_API bsm_status bsm_program_load(const char *path, bsm_program **program);
/* Copies the bytes; `name` stands for the path in errors. */
BSM_API bsm_status bsm_program_from_bytes(const void *bytes, size_t size,
                                          const char *name,
                                          bsm_program **program);
BSM_API void bsm_program_free(bsm_program *program);

BSM_API size_t bsm_program_function_count(const bsm_program *program);
/* NULL when the index is out of range. */
BSM_API const char *bsm_program_function_name(const bsm_program *program,
                                              size_t index);
/* How the program was compiled, e.g. "loss"; NULL when there is no such key. */
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

/* Sessions. `device` is "cpu" (NULL means that) or one of its targets, as in
 * "cpu:x86-64-v3"; 0 threads: as many as OpenMP would use. */
BSM_API bsm_status bsm_session_create(const bsm_program *program,
                                      const char *device, int threads,
                                      bsm_session **session);
BSM_API void bsm_session_free(bsm_session *session);

/* Runs a function on inputs in any order; all must be given, with the type and
 * shape of the signature. */
BSM_API bsm_status bsm_session_run(bsm_session *session, const char *function,
                                   size_t input_count,
                                   const char *const *input_names,
                                   const DLTensor *inputs,
                                   const bsm_step *step);
/* A view of a result of the function's last run. */
BSM_API bsm_status bsm_session_output(const bsm_session *session,
                                      const char *function, const char *name,
                                      DLTensor *output);

/* State: parameters, moments, statistics, counters, by name. */
BSM_API size_t bsm_state_count(const bsm_session *session);
BSM_API const char *bsm_state_name(const bsm_session *session, size_t index);
/* A view of the state; do not write through it. */
BSM_API bsm_status bsm_state_get(const bsm_session *session, const char *name,
                                 DLTensor *value);
/* Copies the value in. */
BSM_API bsm_status bsm_state_set(bsm_session *session, const char *name,
                                 const DLTensor *value);

/* Checkpoints: a directory with all state. */
BSM_API bsm_status bsm_session_save(const bsm_session *session,
                                    const char *directory);
BSM_API bsm_status bsm_session_load(bsm_session *session,
                                    const char *directory);

#ifdef __cplusplus
}
#endif

#endif /* BESSEMER_BESSEMER_H */
