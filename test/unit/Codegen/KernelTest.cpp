// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The harness of the code generator's tests.

#include "KernelTest.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "mlir/Parser/Parser.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace bessemer::test;
using namespace bessemer;

Buffer::Buffer(size_t bytes) : bytes(bytes) {
  size_t page = sysconf(_SC_PAGESIZE);
  mapped = (bytes + page - 1) / page * page + page;
  base = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(base + mapped - page, page, PROT_NONE);
  data = base + mapped - page - bytes;
}

Buffer::~Buffer() { munmap(base, mapped); }

std::vector<float> bessemer::test::randomFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(generator);
  return values;
}

std::vector<cpu::CPUTarget> bessemer::test::getRunnableTargets() {
  std::vector<cpu::CPUTarget> targets;
  for (const cpu::CPUTarget &target : cpu::getCPUTargets())
    if (target.lanes == 8 || (__builtin_cpu_supports("avx512f") &&
                              __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512dq") &&
                              __builtin_cpu_supports("avx512vl") &&
                              __builtin_cpu_supports("avx512cd")))
      targets.push_back(target);
  return targets;
}

KernelSet::KernelSet() : target(cpu::getCPUTargets()[0]) {
  context.loadDialect<kern::KernDialect, graph::GraphDialect,
                      mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::func::FuncDialect>();
}

KernelSet::~KernelSet() { release(); }

void KernelSet::release() {
  if (code)
    munmap(code, blob.bytes.size());
  code = nullptr;
}

size_t KernelSet::add(const std::string &signature, const std::string &op) {
  std::string text = "func.func @f" + signature + " {\n" + op + "\nreturn\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  mlir::Operation *kernel = nullptr;
  module->walk([&](kern::KernelOpInterface found) { kernel = found; });
  EXPECT_TRUE(kernel) << text;
  kernels.push_back({"kernel_" + std::to_string(kernels.size()), kernel});
  modules.push_back(std::move(module));
  return kernels.size() - 1;
}

void KernelSet::compile(const cpu::CPUTarget &newTarget, bool strict,
                        unsigned threads) {
  release();
  target = newTarget;
  auto compiled = cpu::compileKernels(kernels, target, {strict, threads});
  ASSERT_TRUE(mlir::succeeded(compiled));
  blob = std::move(*compiled);
  code = mmap(nullptr, blob.bytes.size(), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, blob.bytes.data(), blob.bytes.size());
  mprotect(code, blob.bytes.size(), PROT_READ | PROT_EXEC);
  size_t bytes = 64;
  for (const cpu::KernelBinary &kernel : blob.kernels)
    bytes = std::max<size_t>(bytes, (kernel.scratchBytes + 63) / 64 * 64);
  scratch = std::make_unique<Buffer>(bytes);
}

KernelSet::Function KernelSet::getFunction(size_t kernel) const {
  return reinterpret_cast<Function>(static_cast<char *>(code) +
                                    blob.kernels[kernel].offset);
}

int64_t KernelSet::getTiles(size_t kernel) const {
  return cpu::getTileCount(kernels[kernel].op, target);
}

void KernelSet::runOnce(size_t kernel, const std::vector<BufferPtr> &buffers) {
  std::vector<void *> pointers;
  for (const BufferPtr &buffer : buffers)
    pointers.push_back(buffer->as<void>());
  getFunction(kernel)(pointers.data(), 0, getTiles(kernel),
                      scratch->as<void>());
}

void KernelSet::run(size_t kernel, const std::vector<BufferPtr> &operands,
                    const std::vector<BufferPtr> &results) {
  std::vector<BufferPtr> buffers = operands;
  buffers.insert(buffers.end(), results.begin(), results.end());
  std::vector<void *> pointers;
  for (const BufferPtr &buffer : buffers)
    pointers.push_back(buffer->as<void>());
  // One by one first, so that the results that stay are those of one call.
  for (int64_t tile = getTiles(kernel); tile-- > 0;)
    getFunction(kernel)(pointers.data(), tile, tile + 1, scratch->as<void>());
  std::vector<std::vector<char>> first;
  for (const BufferPtr &result : results) {
    first.push_back(result->values<char>());
    memset(result->as<void>(), 0x5a, result->size());
  }
  memset(scratch->as<void>(), 0xff, scratch->size());
  runOnce(kernel, buffers);
  for (size_t i = 0; i < results.size(); ++i)
    ASSERT_EQ(
        memcmp(first[i].data(), results[i]->as<void>(), results[i]->size()), 0)
        << "result " << i << " of kernel " << kernel << " on "
        << target.name.str() << " depends on how its " << getTiles(kernel)
        << " tiles are split";
}

void bessemer::test::expectNear(const std::vector<float> &actual,
                                const std::vector<double> &expected,
                                double tolerance, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    double error = std::fabs(actual[i] - expected[i]);
    bool equal = std::isnan(expected[i]) ? std::isnan(actual[i])
                 : std::isinf(expected[i])
                     ? actual[i] == expected[i]
                     : error <= tolerance * (1 + std::fabs(expected[i]));
    ASSERT_TRUE(equal) << what << ": element " << i << " is " << actual[i]
                       << ", expected " << expected[i];
  }
}
