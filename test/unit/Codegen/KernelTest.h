// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles kern ops written as text, and runs them on guarded buffers.

#ifndef BESSEMER_TEST_UNIT_CODEGEN_KERNELTEST_H
#define BESSEMER_TEST_UNIT_CODEGEN_KERNELTEST_H

#include "bessemer/Codegen/CPU/Codegen.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"
#include <memory>
#include <random>

namespace bessemer::test {

/// Memory whose end lies against a page that may not be touched, so that a read
/// or write beyond it crashes; as little aligned as its size allows.
class Buffer {
public:
  explicit Buffer(size_t bytes);
  template <typename T>
  explicit Buffer(const std::vector<T> &values)
      : Buffer(values.size() * sizeof(T)) {
    std::copy(values.begin(), values.end(), as<T>());
  }
  ~Buffer();
  Buffer(const Buffer &) = delete;

  template <typename T> T *as() const { return reinterpret_cast<T *>(data); }
  size_t size() const { return bytes; }
  template <typename T> std::vector<T> values() const {
    return std::vector<T>(as<T>(), as<T>() + bytes / sizeof(T));
  }

private:
  size_t bytes, mapped;
  char *base, *data;
};
using BufferPtr = std::shared_ptr<Buffer>;

template <typename T> BufferPtr makeBuffer(const std::vector<T> &values) {
  return std::make_shared<Buffer>(values);
}
inline BufferPtr makeFloats(size_t count) {
  return makeBuffer(std::vector<float>(count, -77.0f));
}
/// Normally distributed numbers.
std::vector<float> randomFloats(size_t count, unsigned seed);

/// The targets that this machine can run.
std::vector<cpu::CPUTarget> getRunnableTargets();

/// Kernels compiled into one executable blob.
class KernelSet {
public:
  KernelSet();
  ~KernelSet();

  /// Adds a kern op: `signature` is "(%a: tensor<..>, ...)", `op` its text.
  /// Returns its number.
  size_t add(const std::string &signature, const std::string &op);
  void compile(const cpu::CPUTarget &target, bool strict = false,
               unsigned threads = 2);
  /// Runs all tiles in one call and again one by one from the last, expects
  /// equal bits in `results`, which are the last buffers.
  void run(size_t kernel, const std::vector<BufferPtr> &operands,
           const std::vector<BufferPtr> &results);
  /// Runs all tiles in one call.
  void runOnce(size_t kernel, const std::vector<BufferPtr> &buffers);

  int64_t getTiles(size_t kernel) const;
  mlir::Operation *getOp(size_t kernel) const { return kernels[kernel].op; }
  const cpu::CodeBlob &getBlob() const { return blob; }
  mlir::MLIRContext &getContext() { return context; }
  const std::vector<cpu::NamedKernel> &getKernels() const { return kernels; }

private:
  using Function = void (*)(void **, int64_t, int64_t, void *);
  Function getFunction(size_t kernel) const;
  void release();

  mlir::MLIRContext context;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  std::vector<cpu::NamedKernel> kernels;
  cpu::CPUTarget target;
  cpu::CodeBlob blob;
  void *code = nullptr;
  std::unique_ptr<Buffer> scratch;
};

/// Expects |actual - expected| <= tolerance (1 + |expected|), and NaN and
/// infinities where they are expected. Stops at the first difference.
void expectNear(const std::vector<float> &actual,
                const std::vector<double> &expected, double tolerance,
                const std::string &what);

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_CODEGEN_KERNELTEST_H
