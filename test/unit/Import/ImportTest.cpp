// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer's interface: bytes and files, the life of the weights, the
// source model. What is imported from what is tested by test/Import.

#include "bessemer/Import/Import.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Emit/ExportOnnx.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace bessemer;
using llvm::StringRef;
using testing::ElementsAre;
using testing::HasSubstr;

static constexpr const char *modelPath =
    BESSEMER_SOURCE_DIR "/examples/fashion-mnist/model.onnx";

static std::string readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

static ImportOptions exampleOptions() {
  ImportOptions options;
  options.path = modelPath;
  options.batch = 4;
  return options;
}

/// The initial values of the states by name.
static std::map<std::string, std::string> weightsOf(ImportedModel &model) {
  std::map<std::string, std::string> weights;
  for (auto state : model.module->getOps<graph::StateOp>()) {
    auto init = llvm::cast<mlir::DenseResourceElementsAttr>(state.getInit());
    weights[state.getSymName().str()] =
        std::string(init.getData().data(), init.getData().size());
  }
  return weights;
}

TEST(Import, BytesMayGoAfterTheCall) {
  mlir::MLIRContext context, other;
  ImportDiagnostics diagnostics;
  ImportOptions fromBytes;
  fromBytes.batch = 4;
  llvm::FailureOr<ImportedModel> a = llvm::failure();
  {
    std::string bytes = readFile(modelPath);
    fromBytes.bytes = bytes;
    a = importOnnx(context, fromBytes, diagnostics);
    std::fill(bytes.begin(), bytes.end(), '\xff');
  }
  auto b = importOnnx(other, exampleOptions(), diagnostics);
  ASSERT_TRUE(llvm::succeeded(a) && llvm::succeeded(b));
  auto weights = weightsOf(*a);
  EXPECT_EQ(weights.size(), 32u);
  EXPECT_EQ(weights, weightsOf(*b));
}

TEST(Import, IsDeterministic) {
  std::string texts[2];
  for (std::string &text : texts) {
    mlir::MLIRContext context;
    ImportDiagnostics diagnostics;
    auto model = importOnnx(context, exampleOptions(), diagnostics);
    ASSERT_TRUE(llvm::succeeded(model));
    llvm::raw_string_ostream os(text);
    mlir::OpPrintingFlags flags;
    flags.enableDebugInfo();
    model->module->print(os, flags);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Import, TellsWhatItBoundAndFound) {
  mlir::MLIRContext context;
  ImportDiagnostics diagnostics;
  ImportOptions options = exampleOptions();
  options.freeze = {"stem*"};
  auto model = importOnnx(context, options, diagnostics);
  ASSERT_TRUE(llvm::succeeded(model));
  EXPECT_THAT(model->dims,
              ElementsAre(std::pair<const std::string, int64_t>("batch", 4)));
  EXPECT_TRUE(model->fromPyTorch);
  const InitializerInfo &stem = model->initializers.front();
  EXPECT_EQ(stem.name, "stem.weight");
  EXPECT_EQ(stem.role, "parameter");
  EXPECT_FALSE(stem.trainable);
  EXPECT_EQ(stem.why, "frozen by the pattern 'stem*'");
  EXPECT_THAT(stem.shape, ElementsAre(16, 1, 3, 3));
  EXPECT_EQ(stem.elementType, "float");
}

TEST(Import, SaysWhichModelFailed) {
  mlir::MLIRContext context;
  ImportDiagnostics diagnostics;
  ImportOptions options;
  options.bytes = StringRef("\x08\x0a", 2); // an IR version and nothing else
  EXPECT_TRUE(llvm::failed(importOnnx(context, options, diagnostics)));
  EXPECT_THAT(diagnostics.errors, ElementsAre("model: is not an ONNX model"));
}

// A model cut anywhere is an error or, at worst, another model; never a crash.
TEST(Import, SurvivesEveryTruncation) {
  std::string bytes = readFile(modelPath);
  ASSERT_FALSE(bytes.empty());
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 97) {
    mlir::MLIRContext context;
    ImportDiagnostics diagnostics;
    ImportOptions options;
    options.batch = 2;
    options.bytes = StringRef(bytes).take_front(size);
    if (llvm::failed(importOnnx(context, options, diagnostics)))
      EXPECT_FALSE(diagnostics.errors.empty()) << size;
  }
}

TEST(Import, SurvivesDamagedBytes) {
  std::string bytes = readFile(modelPath);
  ASSERT_FALSE(bytes.empty());
  uint32_t random = 1;
  for (int round = 0; round < 40; ++round) {
    std::string damaged = bytes;
    for (int change = 0; change < 20; ++change) {
      random = random * 1664525 + 1013904223;
      damaged[random % damaged.size()] = static_cast<char>(random >> 24);
    }
    mlir::MLIRContext context;
    mlir::ScopedDiagnosticHandler quiet(
        &context, [](mlir::Diagnostic &) { return mlir::success(); });
    ImportDiagnostics diagnostics;
    ImportOptions options;
    options.batch = 2;
    options.bytes = damaged;
    if (llvm::failed(importOnnx(context, options, diagnostics)))
      EXPECT_FALSE(diagnostics.errors.empty()) << round;
  }
}

TEST(Export, SourceModelAndWeightsGiveTheModelAgain) {
  mlir::MLIRContext context, other;
  ImportDiagnostics diagnostics;
  auto model = importOnnx(context, exampleOptions(), diagnostics);
  ASSERT_TRUE(llvm::succeeded(model));
  // 44,000 floats are not in it.
  EXPECT_LT(model->sourceModel.size(), 40'000u);

  auto weights = weightsOf(*model);
  std::map<std::string, WeightView> views;
  for (auto state : model->module->getOps<graph::StateOp>()) {
    WeightView &view = views[state.getSymName().str()];
    view.elementType = "F32";
    view.shape = llvm::cast<mlir::ShapedType>(state.getType()).getShape().vec();
    view.data = weights[state.getSymName().str()];
  }
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("export", "onnx", path));
  ExportOptions options;
  options.outputPath = path.str().str();
  std::string error;
  ASSERT_TRUE(exportOnnx(model->sourceModel, views, options, error)) << error;
  ImportOptions again = exampleOptions();
  again.path = options.outputPath;
  auto reread = importOnnx(other, again, diagnostics);
  ASSERT_TRUE(llvm::succeeded(reread));
  EXPECT_EQ(weights, weightsOf(*reread));

  views["stem.weight"].shape = {16, 9};
  EXPECT_FALSE(exportOnnx(model->sourceModel, views, options, error));
  EXPECT_THAT(error, HasSubstr("'stem.weight' has another type or shape"));
  views.erase("stem.weight");
  error.clear();
  EXPECT_FALSE(exportOnnx(model->sourceModel, views, options, error));
  EXPECT_THAT(error, HasSubstr("no value for the initializer 'stem.weight'"));
  llvm::sys::fs::remove(path);
}
