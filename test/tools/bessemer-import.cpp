// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Test tool: imports a model and prints the module, for FileCheck.
//
//   bessemer-import MODEL [--batch N] [--dim NAME=N] [--train P] [--freeze P]
//                   [--roles] [--locations] [--export FILE [--add X]]

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Emit/ExportOnnx.h"
#include "bessemer/Import/Import.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static cl::opt<std::string> model(cl::Positional, cl::Required,
                                  cl::desc("MODEL"));
static cl::opt<int64_t> batch("batch", cl::desc("the batch"));
static cl::list<std::string> dims("dim", cl::desc("NAME=VALUE"));
static cl::list<std::string> train("train", cl::desc("pattern"));
static cl::list<std::string> freeze("freeze", cl::desc("pattern"));
static cl::opt<bool> roles("roles", cl::desc("print the initializers' roles"));
static cl::opt<bool> locations("locations", cl::desc("print locations"));

static cl::opt<std::string> exportPath(
    "export",
    cl::desc("write the model again, a number added to every weight"));
static cl::opt<float> added("add", cl::init(1), cl::desc("that number"));
static cl::opt<uint64_t> largestInline("largest-inline", cl::init(1 << 30),
                                       cl::desc("bytes of weights"));

/// Exports the imported model with weights that are known: the initial ones
/// plus a number.
static int exportAgain(bessemer::ImportedModel &imported) {
  std::map<std::string, bessemer::WeightView> weights;
  std::vector<std::unique_ptr<std::vector<float>>> memory;
  for (auto state : imported.module->getOps<bessemer::graph::StateOp>()) {
    auto init = cast<mlir::DenseResourceElementsAttr>(state.getInit());
    ArrayRef<char> data = init.getData();
    auto &values = *memory.emplace_back(std::make_unique<std::vector<float>>());
    values.resize(data.size() / sizeof(float));
    memcpy(values.data(), data.data(), data.size());
    for (float &value : values)
      value += added;
    auto &weight = weights[state.getSymName().str()];
    weight.elementType = "F32";
    weight.shape = init.getType().getShape().vec();
    weight.data =
        StringRef(reinterpret_cast<const char *>(values.data()), data.size());
  }
  bessemer::ExportOptions options;
  options.outputPath = exportPath;
  options.largestInline = largestInline;
  std::string error;
  if (bessemer::exportOnnx(imported.sourceModel, weights, options, error))
    return 0;
  errs() << "error: " << error << "\n";
  return 1;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "imports a model and prints it\n");
  bessemer::ImportOptions options;
  options.path = model;
  if (batch.getNumOccurrences())
    options.batch = batch;
  for (const std::string &dim : dims) {
    auto [name, text] = StringRef(dim).rsplit('=');
    int64_t value = 0;
    if (text.getAsInteger(10, value)) {
      errs() << "expected --dim NAME=VALUE\n";
      return 2;
    }
    options.dims[name.str()] = value;
  }
  options.train.assign(train.begin(), train.end());
  options.freeze.assign(freeze.begin(), freeze.end());

  mlir::MLIRContext context;
  bessemer::ImportDiagnostics diagnostics;
  auto imported = bessemer::importOnnx(context, options, diagnostics);
  for (const std::string &warning : diagnostics.warnings)
    errs() << "warning: " << warning << "\n";
  for (const std::string &error : diagnostics.errors)
    errs() << "error: " << error << "\n";
  if (failed(imported))
    return 1;
  if (!exportPath.empty())
    return exportAgain(*imported);
  if (roles) {
    for (const auto &info : imported->initializers)
      outs() << info.name << ": " << info.role
             << (info.trainable ? " trainable" : "") << ": " << info.why
             << "\n";
    return 0;
  }
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16);
  flags.elideLargeResourceString(16);
  flags.enableDebugInfo(locations);
  imported->module->print(outs(), flags);
  return 0;
}
