/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Trains a compiled artifact from C: loads it, makes a batch that fits the
 * signature of train_step, runs steps on it and prints the losses, which fall
 * as the model learns the batch by heart.
 *
 *   train_step MODEL.bsm [steps [learning rate [classes]]]
 */
#include "bessemer/bessemer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the runtime's message and ends with its status. */
static void check(bsm_status status) {
  if (status == BSM_OK)
    return;
  fprintf(stderr, "%s\n", bsm_error_message());
  exit(status);
}

/* A generator of our own: the same batch on every machine. */
static double uniform(void) {
  static unsigned long long state = 42;
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(state >> 40) / (double)(1ull << 24);
}

static size_t elementCount(const DLTensor *tensor) {
  size_t count = 1;
  for (int i = 0; i < tensor->ndim; ++i)
    count *= (size_t)tensor->shape[i];
  return count;
}

/* Floats get normal noise, integers class numbers, other types zeros. */
static void fill(DLTensor *tensor, long classes) {
  size_t count = elementCount(tensor);
  size_t bytes = tensor->dtype.bits / 8;
  tensor->data = calloc(count ? count : 1, bytes);
  if (!tensor->data) {
    fprintf(stderr, "out of memory\n");
    exit(BSM_INTERNAL);
  }
  for (size_t i = 0; i < count; ++i) {
    if (tensor->dtype.code == kDLFloat && bytes == 4) {
      double radius = sqrt(-2 * log(1 - uniform()));
      ((float *)tensor->data)[i] =
          (float)(radius * cos(6.283185307179586 * uniform()));
    } else if (tensor->dtype.code == kDLInt && bytes == 8) {
      ((int64_t *)tensor->data)[i] = (int64_t)(uniform() * (double)classes);
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 5) {
    fprintf(stderr, "usage: %s MODEL.bsm [steps [learning rate [classes]]]\n",
            argv[0]);
    return BSM_USAGE;
  }
  long steps = argc > 2 ? atol(argv[2]) : 10;
  float rate = argc > 3 ? strtof(argv[3], NULL) : 0.01f;
  long classes = argc > 4 ? atol(argv[4]) : 10;

  bsm_program *program;
  bsm_session *session;
  check(bsm_program_load(argv[1], &program));
  check(bsm_session_create(program, "cpu", 0, &session));

  const char *function = "train_step";
  size_t count = bsm_function_input_count(program, function);
  const char **names = calloc(count + 1, sizeof(*names));
  DLTensor *inputs = calloc(count + 1, sizeof(*inputs));
  if (!names || !inputs)
    return BSM_INTERNAL;
  int64_t rows = 1;
  for (size_t i = 0; i < count; ++i) {
    check(bsm_function_input(program, function, i, &names[i], &inputs[i]));
    fill(&inputs[i], classes);
    if (i == 0 && inputs[i].ndim > 0)
      rows = inputs[i].shape[0];
  }

  const char *outputName;
  DLTensor loss;
  check(bsm_function_output(program, function, 0, &outputName, &loss));
  for (long i = 0; i < steps; ++i) {
    bsm_step step = {.step = (uint64_t)i,
                     .seed = 1,
                     .learning_rate = rate,
                     .valid_rows = rows};
    check(bsm_session_run(session, function, count, names, inputs, &step));
    check(bsm_session_output(session, function, outputName, &loss));
    printf("step %ld: %s %.6f\n", i, outputName, *(const float *)loss.data);
  }

  for (size_t i = 0; i < count; ++i)
    free(inputs[i].data);
  free(inputs);
  free(names);
  bsm_session_free(session);
  bsm_program_free(program);
  return 0;
}
