// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trains a compiled artifact from C++ in several sessions at once, a thread
// and a learning rate each, and prints each one's first and last loss.
//
//   train_step MODEL.bsm [steps]
#include <bessemer/bessemer.hpp>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

namespace {
struct Run {
  float rate;
  std::string error;
  float first = 0, last = 0;
};

/// Memory for one input: normal noise for floats, class 0 or 1 for integers.
struct Input {
  explicit Input(const bessemer::Value &value) : value(value) {
    std::mt19937 random(42);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < value.elementCount(); ++i) {
      floats.push_back(normal(random));
      integers.push_back(int64_t(random() % 2));
    }
  }
  bessemer::Tensor tensor() const {
    if (value.type.code == kDLFloat)
      return {value.name, floats.data(), value.shape};
    return {value.name, integers.data(), value.shape};
  }

  bessemer::Value value;
  std::vector<float> floats;
  std::vector<int64_t> integers;
};

void train(const bessemer::Program &program, int steps, Run &run) try {
  const std::string function = "train_step";
  std::vector<Input> data;
  for (const bessemer::Value &value : program.inputs(function))
    data.emplace_back(value);
  std::vector<bessemer::Tensor> inputs;
  for (const Input &input : data)
    inputs.push_back(input.tensor());

  bessemer::Session session(program, "cpu", 1);
  bsm_step step = {};
  step.learning_rate = run.rate;
  step.valid_rows =
      data.empty() || data[0].value.shape.empty() ? 1 : data[0].value.shape[0];
  const std::string loss = program.outputs(function).at(0).name;
  for (; step.step < uint64_t(steps); ++step.step) {
    session.run(function, inputs, step);
    run.last = session.output<float>(function, loss)[0];
    if (step.step == 0)
      run.first = run.last;
  }
} catch (const std::exception &error) {
  run.error = error.what();
}
} // namespace

int main(int argc, char **argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s MODEL.bsm [steps]\n", argv[0]);
    return BSM_USAGE;
  }
  const int steps = argc > 2 ? std::atoi(argv[2]) : 10;
  bessemer::Program program(argv[1]);
  std::vector<Run> runs = {{0, ""}, {0.001f, ""}, {0.01f, ""}, {0.1f, ""}};
  std::vector<std::thread> threads;
  for (Run &run : runs)
    threads.emplace_back(
        [&program, steps, &run] { train(program, steps, run); });
  for (std::thread &thread : threads)
    thread.join();
  for (const Run &run : runs) {
    if (!run.error.empty()) {
      std::fprintf(stderr, "%s\n", run.error.c_str());
      return BSM_INVALID_INPUT;
    }
    std::printf("rate %g: loss %.6f -> %.6f\n", double(run.rate),
                double(run.first), double(run.last));
  }
  return 0;
} catch (const bessemer::Error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.status();
}
