// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artifacts are read back, by FlatBuffers' verifier and by the runtime, which
// also runs one whose only kernel is written by hand.

#include "bessemer/Emit/Emit.h"
#include "bessemer/Format/Layout.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/runtime/Session.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace bessemer;

namespace {
/// Negates 16 floats: buffers[0] -> buffers[1]. One tile.
constexpr unsigned char negateCode[] = {
    0x48, 0x8B, 0x07,                         // mov rax, [rdi]
    0x48, 0x8B, 0x57, 0x08,                   // mov rdx, [rdi + 8]
    0x31, 0xC9,                               // xor ecx, ecx
    0x44, 0x8B, 0x04, 0x88,                   // mov r8d, [rax + 4 rcx]
    0x41, 0x81, 0xF0, 0x00, 0x00, 0x00, 0x80, // xor r8d, 0x80000000
    0x44, 0x89, 0x04, 0x8A,                   // mov [rdx + 4 rcx], r8d
    0x48, 0xFF, 0xC1,                         // inc rcx
    0x48, 0x83, 0xF9, 0x10,                   // cmp rcx, 16
    0x75, 0xE8,                               // jne -24
    0xC3};                                    // ret

constexpr llvm::StringLiteral program = R"mlir(
#id = affine_map<(d0) -> (d0)>
graph.state @weight parameter trainable : tensor<16xf32> = dense<0.5> : tensor<16xf32> {why = "marked PARAMETER"}
graph.state @a statistic : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
graph.state @b statistic : tensor<2xf32> = dense<-3.0> : tensor<2xf32>
graph.state @count counter : tensor<i64> = dense<-1> : tensor<i64>
func.func @train_step(%x: tensor<16xf32> {graph.name = "x"}, %step: !graph.step)
    -> (tensor<4x4xf32> {graph.name = "old"}, tensor<16xf32> {graph.name = "minus_x"}, tensor<3xi1> {graph.name = "flags"}, tensor<f32> {graph.name = "lr"}) {
  %w = graph.read @weight : tensor<16xf32>
  %old = tensor.expand_shape %w [[0, 1]] output_shape [4, 4] : tensor<16xf32> into tensor<4x4xf32>
  %new = kern.map(%w) bounds = [16] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32> loc("neg1"("model.py":12:0))
  graph.write @weight, %new : tensor<16xf32>
  %minus = kern.map(%x) bounds = [16] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %a = graph.read @a : tensor<2xf32>
  %b = graph.read @b : tensor<2xf32>
  graph.write @a, %b : tensor<2xf32>
  graph.write @b, %a : tensor<2xf32>
  %flags = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  return %old, %minus, %flags, %lr : tensor<4x4xf32>, tensor<16xf32>, tensor<3xi1>, tensor<f32>
}
)mlir";

class EmitProgram : public testing::Test {
protected:
  EmitProgram() : context(registry()) {
    // Errors are collected, not printed.
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      error = diagnostic.str();
      return success();
    });
  }

  static DialectRegistry registry() {
    DialectRegistry result;
    result.insert<graph::GraphDialect, kern::KernDialect, exec::ExecDialect,
                  func::FuncDialect, arith::ArithDialect,
                  tensor::TensorDialect>();
    return result;
  }

  OwningOpRef<ModuleOp> compile(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    buildMemoryPipeline(manager);
    EXPECT_TRUE(module && succeeded(manager.run(*module))) << error;
    return module;
  }

  static CodeForTarget codeFor(StringRef target) {
    return {target.str(),
            ArrayRef(reinterpret_cast<const char *>(negateCode),
                     sizeof(negateCode)),
            {{"map_16_neg", 0, 192, 1}}};
  }

  std::string emit(ModuleOp module, ArrayRef<CodeForTarget> code,
                   const EmitOptions &options = {}) {
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    EXPECT_TRUE(succeeded(emitProgram(module, code, options, stream))) << error;
    return bytes;
  }

  static std::shared_ptr<const runtime::Program> load(StringRef bytes) {
    auto loaded = runtime::Program::fromBytes(
        std::as_bytes(std::span(bytes.data(), bytes.size())));
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_TRUE((*loaded)->verifyBlobs().ok());
    return *loaded;
  }

  MLIRContext context;
  std::string error;
};

StringRef blobOf(StringRef bytes, const format::Program &table, int64_t index) {
  const format::Blob &blob = *table.blobs()->Get(index);
  return bytes.substr(blob.offset(), blob.bytes());
}

TEST_F(EmitProgram, TableIsWhatTheModuleSays) {
  OwningOpRef<ModuleOp> module = compile(program);
  EmitOptions options;
  options.producer = "bessemer test";
  options.settings = {{"loss", "mse"}, {"optimizer", "sgd"}};
  options.sourceModel = "the model";
  std::string bytes =
      emit(*module, {codeFor("x86-64-v3"), codeFor("x86-64-v4")}, options);

  format::ArtifactPrefix prefix;
  std::memcpy(&prefix, bytes.data(), sizeof(prefix));
  EXPECT_EQ(StringRef(prefix.magic, 8), "BESSEMER");
  const auto *start =
      reinterpret_cast<const uint8_t *>(bytes.data()) + sizeof(prefix);
  flatbuffers::Verifier verifier(start, prefix.tableBytes);
  ASSERT_TRUE(format::VerifyProgramBuffer(verifier));
  const format::Program &table = *format::GetProgram(start);

  EXPECT_EQ(table.producer()->str(), "bessemer test");
  ASSERT_EQ(table.settings()->size(), 2u);
  EXPECT_EQ(table.settings()->Get(1)->key()->str(), "optimizer");
  EXPECT_EQ(table.settings()->Get(1)->value()->str(), "sgd");
  EXPECT_EQ(blobOf(bytes, table, table.model_blob()), "the model");

  // 64 bytes, then 8, 8 and 8, each rounded up to 64.
  EXPECT_EQ(table.state_bytes(), 256u);
  ASSERT_EQ(table.states()->size(), 4u);
  const format::State &weight = *table.states()->Get(0);
  EXPECT_EQ(weight.name()->str(), "weight");
  EXPECT_EQ(weight.role(), format::StateRole::parameter);
  EXPECT_TRUE(weight.trainable());
  EXPECT_EQ(weight.why()->str(), "marked PARAMETER");
  EXPECT_EQ(weight.init_blob(), -1);
  EXPECT_EQ(weight.splat(), 0.5);
  const format::State &a = *table.states()->Get(1);
  EXPECT_EQ(a.offset(), 64u);
  EXPECT_FALSE(a.trainable());
  float expected[] = {1.0f, 2.0f};
  EXPECT_EQ(blobOf(bytes, table, a.init_blob()),
            StringRef(reinterpret_cast<char *>(expected), 8));
  const format::State &count = *table.states()->Get(3);
  EXPECT_EQ(count.role(), format::StateRole::counter);
  EXPECT_EQ(count.type()->element(), format::ElementType::i64);
  EXPECT_EQ(count.splat(), -1.0);

  // Both functions' kernels are one; each target has its program.
  ASSERT_EQ(table.kernels()->size(), 1u);
  const format::Kernel &kernel = *table.kernels()->Get(0);
  EXPECT_EQ(kernel.name()->str(), "map_16_neg");
  EXPECT_NE(kernel.source()->str().find("arith.negf"), std::string::npos);
  EXPECT_EQ(kernel.source()->str().find("loc("), std::string::npos);
  EXPECT_EQ(kernel.scratch()->size(), 2u);
  EXPECT_EQ(kernel.scratch()->Get(0), 192u);
  ASSERT_EQ(table.code()->size(), 2u);
  EXPECT_EQ(table.code()->Get(1)->target()->str(), "x86-64-v4");
  ASSERT_EQ(table.programs()->size(), 2u);
  EXPECT_EQ(table.programs()->Get(1)->target()->str(), "x86-64-v4");

  ASSERT_EQ(table.functions()->size(), 1u);
  const format::Function &function = *table.functions()->Get(0);
  EXPECT_EQ(function.name()->str(), "train_step");
  ASSERT_EQ(function.inputs()->size(), 1u);
  EXPECT_EQ(function.inputs()->Get(0)->name()->str(), "x");
  ASSERT_EQ(function.outputs()->size(), 4u);
  EXPECT_EQ(function.outputs()->Get(2)->type()->element(),
            format::ElementType::boolean);

  // Blobs lie at multiples of 64, in order, to the end of the file.
  uint64_t end = sizeof(prefix) + prefix.tableBytes;
  for (const format::Blob *blob : *table.blobs()) {
    EXPECT_EQ(blob->offset() % 64, 0u);
    EXPECT_GE(blob->offset(), end);
    end = blob->offset() + blob->bytes();
    EXPECT_EQ(blob->hash(),
              format::hash64(bytes.data() + blob->offset(), blob->bytes()));
  }
  EXPECT_EQ(end, bytes.size());
}

TEST_F(EmitProgram, CommandsCarryLabels) {
  OwningOpRef<ModuleOp> module = compile(program);
  auto loaded = load(emit(*module, {codeFor("x86-64-v3")}));
  const auto &commands = *loaded->table().programs()->Get(0)->commands();
  bool found = false;
  for (const format::Command *command : commands)
    if (const auto *launch = command->body_as_Launch()) {
      EXPECT_EQ(launch->tiles(), 1u);
      found |=
          command->label() && command->label()->str() == "neg1 (model.py:12)";
    }
  EXPECT_TRUE(found);
}

TEST_F(EmitProgram, TheRuntimeRunsIt) {
  OwningOpRef<ModuleOp> module = compile(program);
  auto loaded = load(emit(*module, {codeFor("x86-64-v3")}));
  auto session = runtime::Session::create(
      loaded, {.device = "cpu:x86-64-v3", .threads = 1});
  if (!session.ok() &&
      session.status().message().find("x86-64-v3") != std::string::npos)
    GTEST_SKIP() << session.status().message();
  ASSERT_TRUE(session.ok()) << session.status().message();

  std::vector<float> x(16);
  for (int i = 0; i < 16; ++i)
    x[i] = float(i);
  const int64_t shape[] = {16};
  const runtime::NamedTensor inputs[] = {
      {"x", {runtime::ElementType::F32, shape, x.data()}}};
  runtime::StepBlock step;
  step.learningRate = 0.25f;
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE((*session)->run("train_step", inputs, step).ok());
    float sign = call % 2 ? -1.0f : 1.0f;
    auto state = [&](const char *name) {
      return (*session)->readState(name)->elements<float>();
    };
    auto output = [&](const char *name) {
      return *(*session)->output("train_step", name);
    };
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(output("old").elements<float>()[i], sign * 0.5f);
      EXPECT_EQ(state("weight")[i], sign * -0.5f);
      EXPECT_EQ(output("minus_x").elements<float>()[i], -x[i]);
    }
    // Exchanged in every call.
    EXPECT_EQ(state("a")[0], call % 2 ? 1.0f : -3.0f);
    EXPECT_EQ(state("a")[1], call % 2 ? 2.0f : -3.0f);
    EXPECT_EQ(state("b")[0], call % 2 ? -3.0f : 1.0f);
    EXPECT_EQ(state("b")[1], call % 2 ? -3.0f : 2.0f);
    auto flags = output("flags").elements<bool>();
    EXPECT_TRUE(flags[0] && !flags[1] && flags[2]);
    EXPECT_EQ(output("lr").elements<float>()[0], 0.25f);
  }
}

TEST_F(EmitProgram, SameInputSameBytes) {
  OwningOpRef<ModuleOp> first = compile(program);
  OwningOpRef<ModuleOp> second = compile(program);
  EXPECT_EQ(emit(*first, {codeFor("x86-64-v3")}),
            emit(*second, {codeFor("x86-64-v3")}));
}

TEST_F(EmitProgram, InitialValuesOfEveryKind) {
  // Values that a double field cannot hold are blobs: an integer beyond 2^53
  // and minus zero.
  OwningOpRef<ModuleOp> module = compile(R"mlir(
    graph.state @big counter : tensor<2xi64> = dense<9007199254740993> : tensor<2xi64>
    graph.state @minus_zero statistic : tensor<2xf32> = dense<-0.0> : tensor<2xf32>
    graph.state @half statistic : tensor<2xf16> = dense<1.5> : tensor<2xf16>
    graph.state @flag statistic : tensor<9xi1> = dense<true> : tensor<9xi1>
    graph.state @bits statistic : tensor<9xi1> = dense<[1, 0, 0, 1, 1, 0, 1, 0, 1]> : tensor<9xi1>
  )mlir");
  std::string bytes = emit(*module, {codeFor("x86-64-v3")});
  auto loaded = load(bytes);
  const auto &states = *loaded->table().states();
  ASSERT_GE(states.Get(0)->init_blob(), 0);
  int64_t big[2];
  std::memcpy(big,
              blobOf(bytes, loaded->table(), states.Get(0)->init_blob()).data(),
              16);
  EXPECT_EQ(big[1], 9007199254740993);
  ASSERT_GE(states.Get(1)->init_blob(), 0);
  EXPECT_EQ(blobOf(bytes, loaded->table(), states.Get(1)->init_blob()),
            StringRef("\0\0\0\x80\0\0\0\x80", 8));
  EXPECT_EQ(states.Get(2)->init_blob(), -1);
  EXPECT_EQ(states.Get(2)->splat(), 1.5);
  EXPECT_EQ(states.Get(3)->init_blob(), -1);
  EXPECT_EQ(states.Get(3)->splat(), 1.0);
  EXPECT_EQ(blobOf(bytes, loaded->table(), states.Get(4)->init_blob()),
            StringRef("\1\0\0\1\1\0\1\0\1", 9));
}

TEST_F(EmitProgram, ResourcesAreWrittenFromWhereTheyLie) {
  OwningOpRef<ModuleOp> module = compile(
      "graph.state @w parameter : tensor<3xf32> = dense<1.0> : tensor<3xf32>");
  const float weights[] = {1.0f, 2.0f, 3.0f};
  auto type = RankedTensorType::get({3}, Float32Type::get(&context));
  auto resource = DenseResourceElementsAttr::get(
      type, "weights",
      UnmanagedAsmResourceBlob::allocateInferAlign(ArrayRef(weights)));
  (*module->getOps<exec::StateOp>().begin()).setInitAttr(resource);
  std::string bytes = emit(*module, {codeFor("x86-64-v3")});
  auto loaded = load(bytes);
  EXPECT_EQ(blobOf(bytes, loaded->table(),
                   loaded->table().states()->Get(0)->init_blob()),
            StringRef(reinterpret_cast<const char *>(weights), 12));
}

TEST_F(EmitProgram, ConvolutionsReachTheRuntime) {
  OwningOpRef<ModuleOp> module = compile(R"mlir(
    #row = #kern.layout<"row">
    func.func @predict(%x: tensor<1x2x5x6xf32>, %w: tensor<4x1x3x2xf32>, %b: tensor<4xf32>) -> tensor<1x4x3x3xf32> {
      %y = kern.conv forward(%x, %w, %b) layouts = [#row, #row, #row, #row]
          {strides = array<i64: 2, 3>, pads = array<i64: 1, 2, 1, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, schedule = #kern.schedule<library>}
          : (tensor<1x2x5x6xf32>, tensor<4x1x3x2xf32>, tensor<4xf32>) -> tensor<1x4x3x3xf32>
      return %y : tensor<1x4x3x3xf32>
    }
  )mlir");
  auto loaded = load(emit(*module, {codeFor("x86-64-v3")}));
  const auto *library =
      loaded->table().programs()->Get(0)->commands()->Get(0)->body_as_Library();
  ASSERT_TRUE(library);
  EXPECT_EQ(library->library()->str(), "onednn");
  ASSERT_EQ(library->operands()->size(), 4u);
  const auto *convolution = library->descriptor_as_Convolution();
  ASSERT_TRUE(convolution);
  EXPECT_EQ(convolution->kind(), format::ConvolutionKind::forward);
  EXPECT_TRUE(convolution->has_bias());
  EXPECT_EQ(convolution->groups(), 2);
  EXPECT_EQ(convolution->strides()->Get(1), 3);
  EXPECT_EQ(convolution->pads()->Get(1), 2);
  EXPECT_EQ(convolution->w()->Get(0), 4);
  EXPECT_EQ(convolution->y()->Get(2), 3);
  EXPECT_EQ(convolution->y_layout()->str(), "row");
}

TEST_F(EmitProgram, MissingCodeIsAnError) {
  OwningOpRef<ModuleOp> module = compile(program);
  CodeForTarget code = codeFor("x86-64-v3");
  code.kernels.clear();
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  EXPECT_TRUE(failed(emitProgram(*module, {code}, {}, stream)));
  EXPECT_NE(error.find("expected code for target 'x86-64-v3'"),
            std::string::npos)
      << error;
  EXPECT_TRUE(failed(emitProgram(*module, {}, {}, stream)));
  EXPECT_NE(error.find("expected code of at least one target"),
            std::string::npos)
      << error;
}
} // namespace
