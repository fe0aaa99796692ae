// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Test tool: imports models and evaluates them with the reference evaluator.
//
//   bessemer-evaluate < FOLDERS
//
// Each line of the input names a folder with model.onnx and the inputs in0.bin,
// in1.bin, ...: raw elements, little endian. The tool writes out0.bin, ... or,
// when the model cannot be imported or evaluated, error.txt.

#include "bessemer/Import/Import.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <iostream>

using namespace llvm;
using bessemer::reference::Tensor;

template <typename Element, typename Elements>
static bool read(StringRef bytes, Elements &elements) {
  if (bytes.size() != elements.size() * sizeof(Element))
    return false;
  for (auto [i, element] : enumerate(elements)) {
    Element stored;
    memcpy(&stored, bytes.data() + i * sizeof(Element), sizeof(Element));
    element = stored;
  }
  return true;
}

static bool readTensor(StringRef bytes, Tensor &tensor) {
  mlir::Type element = tensor.type.getElementType();
  switch (element.getIntOrFloatBitWidth()) {
  case 64:
    return tensor.isFloat() ? read<double>(bytes, tensor.floats)
                            : read<int64_t>(bytes, tensor.integers);
  case 32:
    return tensor.isFloat() ? read<float>(bytes, tensor.floats)
                            : read<int32_t>(bytes, tensor.integers);
  default:
    return read<int8_t>(bytes, tensor.integers);
  }
}

template <typename Element, typename Elements>
static void write(raw_ostream &os, const Elements &elements) {
  for (auto element : elements) {
    Element stored = static_cast<Element>(element);
    os.write(reinterpret_cast<const char *>(&stored), sizeof(stored));
  }
}

static void writeTensor(raw_ostream &os, const Tensor &tensor) {
  switch (tensor.type.getElementType().getIntOrFloatBitWidth()) {
  case 64:
    return tensor.isFloat() ? write<double>(os, tensor.floats)
                            : write<int64_t>(os, tensor.integers);
  case 32:
    return tensor.isFloat() ? write<float>(os, tensor.floats)
                            : write<int32_t>(os, tensor.integers);
  default:
    return write<int8_t>(os, tensor.integers);
  }
}

/// Returns what went wrong, or "".
static std::string evaluateFolder(const std::string &folder) {
  mlir::MLIRContext context;
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          problem += diagnostic.str() + "\n";
                                          return success();
                                        });
  bessemer::ImportOptions options;
  options.path = folder + "/model.onnx";
  bessemer::ImportDiagnostics diagnostics;
  auto imported = bessemer::importOnnx(context, options, diagnostics);
  if (failed(imported))
    return join(diagnostics.errors, "\n");

  auto function = imported->module->lookupSymbol<mlir::func::FuncOp>("model");
  std::vector<Tensor> inputs;
  for (mlir::Type type : function.getArgumentTypes()) {
    auto tensor = dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor)
      break;
    std::string path = folder + "/in" + std::to_string(inputs.size()) + ".bin";
    auto file = MemoryBuffer::getFile(path);
    if (!file || !readTensor((*file)->getBuffer(), inputs.emplace_back(tensor)))
      return path + " does not fit the input";
  }
  auto states = bessemer::reference::initialStates(*imported->module);
  if (failed(states))
    return problem;
  auto outcome = bessemer::reference::evaluate(function, inputs, *states);
  if (failed(outcome))
    return problem;
  for (auto [i, result] : enumerate(outcome->results)) {
    std::error_code code;
    raw_fd_ostream os(folder + "/out" + std::to_string(i) + ".bin", code);
    writeTensor(os, result);
  }
  return "";
}

int main() {
  std::string folder;
  while (std::getline(std::cin, folder)) {
    std::string problem = evaluateFolder(folder);
    if (problem.empty())
      continue;
    std::error_code code;
    raw_fd_ostream(folder + "/error.txt", code) << problem << "\n";
  }
  return 0;
}
