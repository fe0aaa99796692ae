// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Test tool: trains an ONNX model in the reference evaluator.
//
//   bessemer-train-reference REQUEST.json
//
// The request has the members model, loss, optimizer (as in a recipe), level
// ("graph", or "kern" to run the fusion pipeline first), steps (a list of
// objects input name -> file of raw little-endian elements) and output_dir. The
// losses go to stdout, one a line; the final states as raw f64 files to
// output_dir, named by number, with their names in states.txt. test/Training/
// parity.py writes requests and compares.

#include "bessemer/Fusion/Passes.h"
#include "bessemer/Import/Import.h"
#include "bessemer/Pipelines/Register.h"
#include "bessemer/Reference/Evaluator.h"
#include "bessemer/Training/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace bessemer;
using reference::Tensor;

[[noreturn]] static void fail(const Twine &message) {
  errs() << "bessemer-train-reference: " << message << "\n";
  std::exit(1);
}

static std::unique_ptr<MemoryBuffer> readFile(StringRef path) {
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    fail("cannot read " + path);
  return std::move(*file);
}

template <typename Element, typename Elements>
static void copyElements(StringRef bytes, Elements &elements) {
  if (bytes.size() != elements.size() * sizeof(Element))
    fail("a file of " + Twine(bytes.size()) + " bytes does not fit " +
         Twine(elements.size()) + " elements");
  for (auto [i, element] : enumerate(elements)) {
    Element stored;
    memcpy(&stored, bytes.data() + i * sizeof(Element), sizeof(Element));
    element = stored;
  }
}

/// f32 and i64 tensors.
static Tensor readTensor(StringRef path, mlir::Type type) {
  Tensor tensor(cast<mlir::RankedTensorType>(type));
  std::unique_ptr<MemoryBuffer> file = readFile(path);
  if (tensor.isFloat())
    copyElements<float>(file->getBuffer(), tensor.floats);
  else
    copyElements<int64_t>(file->getBuffer(), tensor.integers);
  return tensor;
}

static TrainingOptions optionsOf(const json::Object &request) {
  TrainingOptions options;
  auto report = [](const Twine &message) { fail(message); };
  (void)parseLoss(*request.getString("loss"), options, report);
  const json::Object &chosen = *request.getObject("optimizer");
  OptimizerOptions &optimizer = options.optimizer;
  (void)parseOptimizer(*chosen.getString("kind"), optimizer, report);
  optimizer.momentum = chosen.getNumber("momentum").value_or(0.0);
  optimizer.nesterov = chosen.getBoolean("nesterov").value_or(false);
  optimizer.epsilon = chosen.getNumber("eps").value_or(1e-8);
  optimizer.weightDecay = chosen.getNumber("weight_decay");
  if (const json::Array *betas = chosen.getArray("betas")) {
    optimizer.beta1 = *(*betas)[0].getAsNumber();
    optimizer.beta2 = *(*betas)[1].getAsNumber();
  }
  return options;
}

static mlir::OwningOpRef<mlir::ModuleOp>
importModel(mlir::MLIRContext &context, const json::Object &request) {
  ImportOptions options;
  options.path = request.getString("model")->str();
  ImportDiagnostics diagnostics;
  FailureOr<ImportedModel> model = importOnnx(context, options, diagnostics);
  for (const std::string &warning : diagnostics.warnings)
    errs() << "warning: " << warning << "\n";
  for (const std::string &error : diagnostics.errors)
    errs() << error << "\n";
  if (failed(model))
    fail("import failed");
  return std::move(model->module);
}

int main(int argc, char **argv) {
  if (argc != 2)
    fail("expected one argument, a request");
  json::Value parsed = cantFail(json::parse(readFile(argv[1])->getBuffer()));
  const json::Object &request = *parsed.getAsObject();

  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(context, request);
  mlir::PassManager manager(&context);
  buildTrainingPipeline(manager, optionsOf(request));
  if (request.getString("level") == "kern")
    buildFusionPipeline(manager);
  if (failed(manager.run(*module)))
    fail("training failed");

  auto function = module->lookupSymbol<mlir::func::FuncOp>("train_step");
  FailureOr<reference::States> states = reference::initialStates(*module);
  if (failed(states))
    fail("states failed");
  reference::StepBlock step;
  step.learningRate =
      static_cast<float>(*request.getObject("optimizer")->getNumber("lr"));
  reference::EvaluatorOptions options{
      request.getBoolean("round").value_or(false)};
  for (const json::Value &feed : *request.getArray("steps")) {
    std::vector<Tensor> inputs;
    for (unsigned i = 0; i + 1 < function.getNumArguments(); ++i) {
      auto name =
          function.getArgAttrOfType<mlir::StringAttr>(i, graph::kNameAttr);
      std::optional<StringRef> path =
          feed.getAsObject()->getString(name.getValue());
      if (!path)
        fail("no file for input " + name.getValue());
      inputs.push_back(readTensor(*path, function.getArgumentTypes()[i]));
    }
    auto outcome =
        reference::evaluate(function, inputs, *states, step, options);
    if (failed(outcome))
      fail("evaluation failed");
    outs() << format("%.9g\n", outcome->results[0].floats[0]);
    for (auto &[name, tensor] : outcome->written)
      states->insert_or_assign(name, std::move(tensor));
    ++step.step;
  }

  std::string folder = request.getString("output_dir")->str();
  std::error_code code;
  raw_fd_ostream names(folder + "/states.txt", code);
  for (auto [i, state] : enumerate(*states)) {
    names << state.first << "\n";
    raw_fd_ostream os(folder + "/" + std::to_string(i) + ".bin", code);
    const Tensor &tensor = state.second;
    for (int64_t k = 0; k < tensor.size(); ++k) {
      double value = tensor.isFloat() ? tensor.floats[k]
                                      : static_cast<double>(tensor.integers[k]);
      os.write(reinterpret_cast<const char *>(&value), sizeof(value));
    }
  }
  return 0;
}
