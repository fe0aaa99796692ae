// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestArtifact.h"

#include <fstream>
#include <iterator>

namespace bessemer::test {

using namespace format;

namespace {
const std::string targets[] = {"x86-64-v3", "x86-64-v4"};

std::unique_ptr<TensorTypeT> makeType(ElementType element,
                                      std::vector<int64_t> shape) {
  auto type = std::make_unique<TensorTypeT>();
  type->element = element;
  type->shape = std::move(shape);
  return type;
}

uint64_t byteSize(const TensorTypeT &type) {
  runtime::TensorType own{static_cast<runtime::ElementType>(type.element),
                          type.shape};
  return own.byteSize();
}

std::unique_ptr<ArenaT> makeArena(ArenaKind kind, uint64_t bytes,
                                  uint32_t value = 0) {
  auto arena = std::make_unique<ArenaT>();
  arena->kind = kind;
  arena->bytes = bytes;
  arena->value = value;
  return arena;
}
} // namespace

std::span<const std::byte> asBytes(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

uint32_t ExecBuilder::addWork(uint64_t bytes) {
  exec.arenas.push_back(makeArena(ArenaKind::work, bytes));
  return uint32_t(exec.arenas.size() - 1);
}

uint32_t ExecBuilder::addConstant(int64_t blob, uint64_t bytes) {
  exec.arenas.push_back(makeArena(ArenaKind::constant, bytes));
  exec.arenas.back()->blob = blob;
  return uint32_t(exec.arenas.size() - 1);
}

Slice ExecBuilder::slice(uint32_t arena) const {
  return Slice(arena, 0, 0, exec.arenas[arena]->bytes);
}

void ExecBuilder::launch(uint32_t kernel, uint64_t tiles,
                         std::vector<Operand> operands) {
  LaunchT body;
  body.kernel = kernel;
  body.tiles = tiles;
  body.operands = std::move(operands);
  command(std::move(body), "a launch");
}

void ExecBuilder::copy(Slice from, Slice to) {
  CopyT body;
  body.from = std::make_unique<Slice>(from);
  body.to = std::make_unique<Slice>(to);
  command(std::move(body), "a copy");
}

void ExecBuilder::fill(Slice to, uint64_t pattern, uint8_t width) {
  FillT body;
  body.to = std::make_unique<Slice>(to);
  body.pattern = pattern;
  body.width = width;
  command(std::move(body), "a fill");
}

void ExecBuilder::convolution(const ConvolutionT &convolution,
                              std::vector<Slice> operands) {
  LibraryT body;
  body.library = "onednn";
  body.descriptor.Set(ConvolutionT(convolution));
  body.operands = std::move(operands);
  command(std::move(body), "a convolution");
}

TestArtifact::TestArtifact() {
  std::ifstream file(BESSEMER_TEST_KERNELS, std::ios::binary);
  std::string machineCode((std::istreambuf_iterator<char>(file)), {});
  EXPECT_FALSE(machineCode.empty()) << BESSEMER_TEST_KERNELS;
  int64_t blob = addBlob(machineCode);
  for (const std::string &target : targets) {
    auto code = std::make_unique<CodeObjectT>();
    code->target = target;
    code->blob = uint64_t(blob);
    program.code.push_back(std::move(code));
  }
  program.producer = "the runtime's tests";
}

int64_t TestArtifact::addBlob(std::string bytes) {
  blobs.push_back(std::move(bytes));
  return int64_t(blobs.size() - 1);
}

uint32_t TestArtifact::addKernel(TestKernel kernel, uint64_t scratch) {
  auto entry = std::make_unique<KernelT>();
  entry->name = "kernel" + std::to_string(kernel);
  entry->entries.assign(std::size(targets), uint64_t(kernel) * 16);
  entry->scratch.assign(std::size(targets), scratch);
  program.kernels.push_back(std::move(entry));
  return uint32_t(program.kernels.size() - 1);
}

uint64_t TestArtifact::addState(const std::string &name, ElementType element,
                                std::vector<int64_t> shape, double splat,
                                int64_t blob) {
  auto state = std::make_unique<StateT>();
  state->name = name;
  state->role = StateRole::parameter;
  state->type = makeType(element, std::move(shape));
  state->offset = program.state_bytes;
  state->splat = splat;
  state->init_blob = blob;
  state->trainable = true;
  uint64_t offset = state->offset;
  program.state_bytes = alignArtifact(offset + byteSize(*state->type));
  program.states.push_back(std::move(state));
  return offset;
}

ExecBuilder TestArtifact::addFunction(const std::string &name,
                                      std::vector<ValueSpec> inputs,
                                      std::vector<ValueSpec> outputs) {
  auto function = std::make_unique<FunctionT>();
  auto exec = std::make_unique<ExecProgramT>();
  function->name = exec->function = name;
  exec->target = targets[0];
  exec->arenas.push_back(makeArena(ArenaKind::state, program.state_bytes));
  exec->arenas.push_back(makeArena(ArenaKind::step, 64));
  auto addValues = [&](const std::vector<ValueSpec> &specs, ArenaKind kind,
                       std::vector<std::unique_ptr<ValueT>> &values) {
    for (const ValueSpec &spec : specs) {
      auto value = std::make_unique<ValueT>();
      value->name = spec.name;
      value->type = makeType(spec.element, spec.shape);
      exec->arenas.push_back(
          makeArena(kind, byteSize(*value->type), uint32_t(values.size())));
      values.push_back(std::move(value));
    }
  };
  addValues(inputs, ArenaKind::input, function->inputs);
  addValues(outputs, ArenaKind::output, function->outputs);
  program.functions.push_back(std::move(function));
  program.programs.push_back(std::move(exec));
  ExecBuilder builder(*program.programs.back());
  builder.inputs = unsigned(inputs.size());
  return builder;
}

std::string TestArtifact::pack() {
  ProgramT packed(program);
  for (const auto &exec : program.programs) {
    auto second = std::make_unique<ExecProgramT>(*exec);
    second->target = targets[1];
    packed.programs.push_back(std::move(second));
  }
  std::vector<std::string_view> views(blobs.begin(), blobs.end());
  return packArtifact(packed, views);
}

std::shared_ptr<const runtime::Program> TestArtifact::load() {
  auto loaded = runtime::Program::fromBytes(asBytes(pack()), "test.bsm");
  if (!loaded) {
    ADD_FAILURE() << loaded.status().message();
    return nullptr;
  }
  return *loaded;
}

std::unique_ptr<runtime::Session> TestArtifact::session(int threads,
                                                        std::string device) {
  auto loaded = load();
  if (!loaded)
    return nullptr;
  auto created = runtime::Session::create(loaded, {device, threads});
  if (!created) {
    ADD_FAILURE() << created.status().message();
    return nullptr;
  }
  return std::move(*created);
}

} // namespace bessemer::test
