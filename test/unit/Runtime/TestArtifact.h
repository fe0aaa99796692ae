// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds artifacts for the tests through FlatBuffers' object API.
#pragma once

#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Session.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace bessemer::test {

/// The entries of TestKernels.c, in order.
enum TestKernel {
  scaleAdd,
  applyGradient,
  reportScratch,
  multiplyOne,
  addStep
};

struct ValueSpec {
  std::string name;
  format::ElementType element;
  std::vector<int64_t> shape;
};

/// One exec program, written once and packed for both targets. Arenas 0 to 1
/// are state and step; then inputs, outputs, and what addArena adds.
class ExecBuilder {
public:
  explicit ExecBuilder(format::ExecProgramT &exec) : exec(exec) {}

  static constexpr uint32_t state = 0, step = 1;
  uint32_t input(unsigned i) const { return 2 + i; }
  uint32_t output(unsigned i) const { return 2 + inputs + i; }
  uint32_t addWork(uint64_t bytes);
  uint32_t addConstant(int64_t blob, uint64_t bytes);

  /// The whole arena, or part of it.
  format::Slice slice(uint32_t arena) const;
  static format::Slice slice(uint32_t arena, uint64_t offset, uint64_t bytes) {
    return format::Slice(arena, 0, offset, bytes);
  }
  static format::Operand operand(format::Slice slice) {
    return format::Operand(format::OperandKind::slice, 0, slice);
  }
  static format::Operand immediate(uint64_t value) {
    return format::Operand(format::OperandKind::immediate, value, {});
  }

  void launch(uint32_t kernel, uint64_t tiles,
              std::vector<format::Operand> operands);
  void copy(format::Slice from, format::Slice to);
  void fill(format::Slice to, uint64_t pattern, uint8_t width = 4);
  void convolution(const format::ConvolutionT &convolution,
                   std::vector<format::Slice> operands);
  template <typename T> void command(T body, std::string label = "") {
    auto command = std::make_unique<format::CommandT>();
    command->label = std::move(label);
    command->body.Set(std::move(body));
    exec.commands.push_back(std::move(command));
  }

  format::ExecProgramT &exec;
  unsigned inputs = 0;
};

class TestArtifact {
public:
  TestArtifact();

  int64_t addBlob(std::string bytes);
  template <typename T> int64_t addBlob(const std::vector<T> &elements) {
    return addBlob(std::string(reinterpret_cast<const char *>(elements.data()),
                               elements.size() * sizeof(T)));
  }
  uint32_t addKernel(TestKernel kernel, uint64_t scratch = 0);
  /// Gives the offset in the state arena.
  uint64_t addState(const std::string &name, format::ElementType element,
                    std::vector<int64_t> shape, double splat = 0,
                    int64_t blob = -1);
  ExecBuilder addFunction(const std::string &name,
                          std::vector<ValueSpec> inputs,
                          std::vector<ValueSpec> outputs);

  /// The file's bytes; programs for the second target are made here.
  std::string pack();
  /// Loads the packed bytes, which must succeed.
  std::shared_ptr<const runtime::Program> load();
  std::unique_ptr<runtime::Session> session(int threads = 1,
                                            std::string device = "cpu");

  format::ProgramT program;
  std::vector<std::string> blobs;
};

std::span<const std::byte> asBytes(const std::string &text);

/// A view of a vector as a tensor.
template <typename T>
runtime::TensorView view(const std::vector<T> &elements,
                         const std::vector<int64_t> &shape) {
  return {runtime::elementTypeOf<T>(), shape, elements.data()};
}

} // namespace bessemer::test
