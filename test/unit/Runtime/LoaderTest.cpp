// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the loader accepts, shows, and refuses by name.
#include "TestArtifact.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using namespace bessemer;
using Type = format::ElementType;
using testing::HasSubstr;

namespace {
/// A valid artifact; each test breaks one thing.
struct Loader : testing::Test {
  Loader() {
    artifact.addState("w", Type::f32, {4, 4}, 1);
    kernel = artifact.addKernel(multiplyOne);
    artifact.addFunction("predict", {{"x", Type::f32, {4}}},
                         {{"y", Type::f32, {4}}});
  }
  ExecBuilder exec() {
    ExecBuilder builder(*artifact.program.programs[0]);
    builder.inputs = 1;
    return builder;
  }
  /// The one-line error.
  std::string error() {
    std::string bytes = artifact.pack();
    auto program = Program::fromBytes(asBytes(bytes), "m.bsm");
    EXPECT_FALSE(program.ok());
    EXPECT_EQ(program.status().code(), StatusCode::InvalidInput);
    EXPECT_THAT(program.status().message(), testing::StartsWith("m.bsm: "));
    return program.status().message();
  }
  void convolutionError(void (*change)(format::ConvolutionT &),
                        const std::string &message);

  TestArtifact artifact;
  uint32_t kernel;
};
} // namespace

TEST(Hash, IsXxh64) {
  // From the xxHash project's published values.
  EXPECT_EQ(format::hash64("", 0), 0xEF46DB3751D8E999ull);
  EXPECT_EQ(format::hash64("a", 1), 0xD24EC4F1A98C6E5Bull);
  EXPECT_EQ(format::hash64("abc", 3), 0x44BC2CF5AD770999ull);
  EXPECT_EQ(format::hash64("Nobody inspects the spammish repetition", 39),
            0xFBCEA83C8A378BF1ull);
}

/// The prefix and the table of `program` as it is, with a hash that fits.
static std::string packTable(const format::ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder;
  format::FinishProgramBuffer(builder,
                              format::Program::Pack(builder, &program));
  format::ArtifactPrefix prefix{};
  std::memcpy(prefix.magic, format::artifactMagic, 8);
  prefix.tableBytes = builder.GetSize();
  prefix.tableHash =
      format::hash64(builder.GetBufferPointer(), builder.GetSize());
  std::string bytes(reinterpret_cast<char *>(&prefix), sizeof(prefix));
  bytes.append(reinterpret_cast<char *>(builder.GetBufferPointer()),
               builder.GetSize());
  return bytes;
}

TEST_F(Loader, RefusesInitialValuesThatATypeCannotHold) {
  struct Case {
    Type type;
    double least, most, below, above;
  };
  // The bounds of two's complement; 2^63 - 1024 is the double below 2^63.
  const Case cases[] = {
      {Type::i8, -128, 127, -129, 128},
      {Type::u16, 0, 65535, -1, 65536},
      {Type::i64, -0x1p63, 0x1p63 - 1024, -0x1.00001p63, 0x1p63},
      {Type::u64, 0, 0x1p64 - 2048, -1, 0x1p64}};
  artifact.addState("n", Type::i8, {}, 0);
  format::StateT &state = *artifact.program.states.back();
  for (const Case &c : cases) {
    state.type->element = c.type;
    for (double value : {c.least, c.most}) {
      state.splat = value;
      EXPECT_TRUE(artifact.load()) << value;
    }
    for (double value : {c.below, c.above, double(NAN), -3.25e231}) {
      state.splat = value;
      EXPECT_THAT(error(), HasSubstr("state 'n': expected an initial value "
                                     "that its type holds, got "))
          << value;
    }
  }
}

TEST_F(Loader, ShowsTheProgram) {
  auto &program = artifact.program;
  program.settings.push_back(std::make_unique<format::SettingT>());
  program.settings[0]->key = "loss";
  program.settings[0]->value = "mse";
  program.model_blob = artifact.addBlob(std::string("an onnx model"));
  auto loaded = artifact.load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->name(), "test.bsm");
  EXPECT_EQ(loaded->producer(), "the runtime's tests");
  EXPECT_EQ(loaded->setting("loss"), "mse");
  EXPECT_FALSE(loaded->setting("optimizer"));
  EXPECT_THAT(loaded->targets(),
              testing::ElementsAre("x86-64-v3", "x86-64-v4"));
  ASSERT_TRUE(loaded->function("predict"));
  EXPECT_EQ(loaded->function("predict")->inputs[0].type.str(), "f32[4]");
  EXPECT_FALSE(loaded->function("train_step"));
  ASSERT_EQ(loaded->states().size(), 1u);
  EXPECT_EQ(loaded->states()[0].role, StateRole::Parameter);
  EXPECT_EQ(loaded->states()[0].type.str(), "f32[4x4]");
  auto model = loaded->sourceModel();
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(
      std::string(reinterpret_cast<const char *>(model->data()), model->size()),
      "an onnx model");
  EXPECT_TRUE(loaded->verifyBlobs().ok());
}

TEST_F(Loader, LoadsFiles) {
  auto path = std::filesystem::temp_directory_path() /
              ("bessemer_loader_test_" + std::to_string(::getpid()) + ".bsm");
  std::string bytes = artifact.pack();
  std::ofstream(path, std::ios::binary) << bytes;
  auto program = Program::load(path.string());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ((*program)->bytes().size(), bytes.size());
  EXPECT_TRUE(Session::create(*program).ok());
  std::filesystem::resize_file(path, 0);
  EXPECT_THAT(Program::load(path.string()).status().message(),
              HasSubstr("of at least 32 bytes, got 0"));
  std::filesystem::remove(path);
  EXPECT_THAT(Program::load(path.string()).status().message(),
              HasSubstr("cannot open: No such file"));
  EXPECT_THAT(Program::load("/tmp").status().message(),
              testing::Eq("/tmp: expected a regular file, got a directory"));
}

TEST_F(Loader, RefusesOtherFiles) {
  std::string text(100, 'x');
  EXPECT_THAT(Program::fromBytes(asBytes(text)).status().message(),
              HasSubstr("expected a bessemer artifact (.bsm), got a file that "
                        "does not start with"));
}

TEST_F(Loader, RefusesOtherVersions) {
  auto withVersion = [&](uint32_t major, uint32_t minor) {
    format::ProgramT program(artifact.program);
    program.programs.push_back(
        std::make_unique<format::ExecProgramT>(*program.programs[0]));
    program.programs[1]->target = "x86-64-v4";
    std::vector<std::string_view> blobs(artifact.blobs.begin(),
                                        artifact.blobs.end());
    std::string head = format::packArtifactHead(program, blobs);
    // Pack again with another version, which has the same size, and a hash
    // that fits. Zero would be left out of the table.
    program.major = major;
    program.minor = minor;
    std::string bytes = packTable(program);
    return Program::fromBytes(asBytes(bytes), "m.bsm").status().message();
  };
  EXPECT_THAT(withVersion(2, 0),
              HasSubstr("format version: expected 1.0 to 1.3 (what this "
                        "runtime reads), got 2.0 written by the runtime's "
                        "tests"));
  EXPECT_THAT(withVersion(1, 9), HasSubstr("got 1.9"));
  EXPECT_THAT(withVersion(0, 0), HasSubstr("got 0.0"));
}

/// The artifact as a compiler of an earlier minor version wrote it.
static std::string packMinor(const TestArtifact &artifact, uint32_t minor) {
  format::ProgramT program(artifact.program);
  std::vector<std::string_view> blobs(artifact.blobs.begin(),
                                      artifact.blobs.end());
  for (const auto &exec : artifact.program.programs) {
    program.programs.push_back(std::make_unique<format::ExecProgramT>(*exec));
    program.programs.back()->target = "x86-64-v4";
  }
  std::string head = format::packArtifactHead(program, blobs);
  // Zero is left out of the table, which gets shorter; the blobs stay where
  // they are.
  program.minor = minor;
  std::string bytes = packTable(program);
  for (size_t i = 0; i < blobs.size(); ++i) {
    bytes.resize(program.blobs[i].offset());
    bytes += blobs[i];
  }
  return bytes;
}

TEST_F(Loader, LoadsAnEarlierMinorVersion) {
  std::string bytes = packMinor(artifact, 0);
  auto loaded = Program::fromBytes(asBytes(bytes), "m.bsm");
  EXPECT_EQ(loaded.status().message(), "");
}

// Ranges came with 1.3; the compilers before left the classes to the settings.
TEST_F(Loader, GivesLabelsOfEarlierVersionsTheirClasses) {
  using Settings = std::vector<std::pair<const char *, const char *>>;
  auto rangeOf = [](Settings settings, std::vector<int64_t> prediction,
                    uint32_t minor = 2, Type element = Type::i64) {
    TestArtifact artifact;
    artifact.addFunction(
        "predict", {{"x", Type::f32, {4}}},
        {{"z", Type::f32, {4}}, {"y", Type::f32, std::move(prediction)}});
    artifact.addFunction("train_step",
                         {{"x", Type::i64, {4}}, {"labels", element, {4}}}, {});
    settings.push_back({"output_name", "y"});
    for (auto [key, value] : settings) {
      auto setting = std::make_unique<format::SettingT>();
      setting->key = key;
      setting->value = value;
      artifact.program.settings.push_back(std::move(setting));
    }
    std::string bytes = packMinor(artifact, minor);
    auto loaded = *Program::fromBytes(asBytes(bytes), "m.bsm");
    const FunctionInfo &function = *loaded->function("train_step");
    EXPECT_TRUE(function.inputs[0].ranges.empty());
    std::string text;
    for (const ValueRange &range : function.inputs[1].ranges)
      text += range.str();
    return text;
  };
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}}, {4, 10}),
            "a label in [0, 9] or -100");
  EXPECT_EQ(rangeOf({{"loss", "nll"}, {"ignore_index", "-1"}}, {4, 10}, 0),
            "a label in [0, 9] or -1");
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}}, {4, 5, 6}, 1, Type::i32),
            "a label in [0, 5] or -100");
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}}, {4, 5, 6, 7}),
            "a label in [0, 4] or -100");
  EXPECT_EQ(
      rangeOf({{"loss", "cross_entropy"}, {"class_axis", "-1"}}, {4, 5, 6, 7}),
      "a label in [0, 6] or -100");
  // A version with ranges says itself what it wants.
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}}, {4, 10}, 3), "");
  EXPECT_EQ(rangeOf({{"loss", "mse"}}, {4, 10}), "");
  EXPECT_EQ(rangeOf({}, {4, 10}), "");
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}}, {4}), "");
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}, {"class_axis", "9"}}, {4, 10}),
            "");
  EXPECT_EQ(rangeOf({{"loss", "cross_entropy"}}, {4, 10}, 2, Type::f32), "");
}

TEST_F(Loader, RefusesDamagedBlobsAtFirstUse) {
  artifact.program.states[0]->init_blob =
      artifact.addBlob(std::vector<float>(16, 1.0f));
  std::string bytes = artifact.pack();
  bytes.back() ^= 1;
  auto program = Program::fromBytes(asBytes(bytes), "m.bsm");
  ASSERT_TRUE(program.ok()) << "weights are checked when used";
  EXPECT_THAT(Session::create(*program).status().message(),
              testing::AllOf(HasSubstr("m.bsm: blob 1 (64 bytes from offset"),
                             HasSubstr("expected hash"),
                             HasSubstr("(initial value of 'w')")));
  EXPECT_FALSE((*program)->verifyBlobs().ok());
}

TEST_F(Loader, RefusesBadStates) {
  auto &states = artifact.program.states;
  states[0]->offset = 32;
  EXPECT_THAT(error(), HasSubstr("state 'w': expected an offset that is a "
                                 "multiple of 64, got 32"));
  states[0]->offset = 64;
  EXPECT_THAT(error(), HasSubstr("a place in the state arena of 64 bytes"));
  states[0]->offset = uint64_t(0) - 64;
  EXPECT_THAT(error(), HasSubstr("a place in the state arena"));
  states[0]->offset = 0;
  states[0]->init_blob = 5;
  EXPECT_THAT(error(), HasSubstr("expected a blob below 1, got 5"));
  states[0]->init_blob = artifact.addBlob(std::string("four"));
  EXPECT_THAT(error(), HasSubstr("expected an initial value of 64 bytes, "
                                 "got 4"));
  states[0]->init_blob = -1;
  states[0]->type->shape = {int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_THAT(error(), HasSubstr("expected a valid tensor type"));
  states[0]->type->shape = {-4};
  EXPECT_THAT(error(), HasSubstr("expected a valid tensor type"));
  states[0]->type->shape = {4, 4};
  states[0]->type->element = Type(99);
  EXPECT_THAT(error(), HasSubstr("expected a valid tensor type"));
  states[0]->type->element = Type::f32;
  const char *layouts = "state 'w': expected a row-major one, or layout "
                        "OIhw16i16o of f32 weights of whole blocks of 16 "
                        "channels, got layout ";
  states[0]->layout = "OIhw8i8o";
  EXPECT_THAT(error(), HasSubstr(std::string(layouts) + "OIhw8i8o"));
  states[0]->layout = "OIhw16i16o";
  EXPECT_THAT(error(), HasSubstr(std::string(layouts) + "OIhw16i16o"));
  const std::vector<std::vector<int64_t>> shapes = {
      {16, 24, 1, 1}, {24, 16, 1, 1}, {16, 0, 1, 1}, {16, 16, 1}};
  for (const auto &shape : shapes) {
    states[0]->type->shape = shape;
    EXPECT_THAT(error(), HasSubstr(layouts));
  }
  artifact.program.state_bytes = 2048;
  states[0]->type->shape = {16, 16, 1, 1};
  states[0]->type->element = Type::f64;
  EXPECT_THAT(error(), HasSubstr(layouts));
  states[0]->type->element = Type::f32;
  states[0]->layout.clear();
  states.push_back(std::make_unique<format::StateT>(*states[0]));
  EXPECT_THAT(error(), HasSubstr("two states with it"));
}

TEST_F(Loader, RefusesBadFunctionsAndPrograms) {
  auto &program = artifact.program;
  program.programs[0]->function = "train_step";
  EXPECT_THAT(error(), HasSubstr("program of 'train_step' for 'x86-64-v3': "
                                 "expected a function of that name"));
  program.programs[0]->function = "predict";
  program.functions[0]->name = "eval_step";
  EXPECT_THAT(error(), HasSubstr("expected a function of that name"));
  program.functions.push_back(
      std::make_unique<format::FunctionT>(*program.functions[0]));
  EXPECT_THAT(error(), HasSubstr("two functions with it"));
  program.functions[1]->name = "predict";
  EXPECT_THAT(error(), HasSubstr("function 'eval_step': expected a program "
                                 "for target 'x86-64-v3', got none"));
}

TEST_F(Loader, RefusesBadRanges) {
  using bessemer::format::ValueRangeT;
  auto problemOf = [](Type element, std::vector<int64_t> shape, int64_t dim,
                      int64_t begin, int64_t end, int64_t least = 0,
                      int64_t most = 0, const char *meaning = "an index") {
    TestArtifact artifact;
    artifact.addFunction("f", {{"x", element, std::move(shape)}}, {});
    auto range = std::make_unique<ValueRangeT>();
    range->meaning = meaning;
    range->least = least;
    range->most = most;
    range->dim = dim;
    range->begin = begin;
    range->end = end;
    artifact.program.functions[0]->inputs[0]->ranges.push_back(
        std::move(range));
    return Program::fromBytes(asBytes(artifact.pack())).status().message();
  };
  EXPECT_EQ(problemOf(Type::i64, {4, 3}, -1, 0, 0), "");
  EXPECT_EQ(problemOf(Type::i32, {4, 3}, 1, 3, 3), "");
  EXPECT_EQ(problemOf(Type::i64, {4}, -1, 0, 0, INT64_MIN, INT64_MAX), "");
  for (const std::string &problem : {problemOf(Type::f32, {4, 3}, -1, 0, 0),
                                     problemOf(Type::u8, {4}, -1, 0, 0),
                                     problemOf(Type::i64, {4, 3}, 2, 0, 1),
                                     problemOf(Type::i64, {}, 0, 0, 0),
                                     problemOf(Type::i64, {4, 3}, -2, 0, 1),
                                     problemOf(Type::i64, {4, 3}, 1, -1, 1),
                                     problemOf(Type::i64, {4, 3}, 1, 2, 1),
                                     problemOf(Type::i64, {4, 3}, 1, 0, 4)})
    EXPECT_THAT(problem, HasSubstr("function 'f' input 'x': expected ranges of "
                                   "parts of an i32 or i64 tensor, got range "
                                   "0 of something else"));
  EXPECT_THAT(problemOf(Type::i64, {4}, -1, 0, 0, 1, 0),
              HasSubstr("'x': expected ranges with a meaning that hold an "
                        "integer, got range 0 of 'an index' from 1 to 0"));
  EXPECT_THAT(problemOf(Type::i64, {4}, -1, 0, 0, 0, 9, ""),
              HasSubstr("got range 0 of '' from 0 to 9"));
}

TEST_F(Loader, RefusesBadKernelsAndCode) {
  auto &program = artifact.program;
  size_t codeBytes = artifact.blobs[0].size();
  program.kernels[0]->entries[1] = codeBytes;
  EXPECT_THAT(error(), HasSubstr("kernel 0 ('kernel3') on 'x86-64-v4': "
                                 "expected an entry below " +
                                 std::to_string(codeBytes)));
  program.kernels[0]->entries = {0};
  EXPECT_THAT(error(), HasSubstr("for each of 2 targets, got 1"));
  program.kernels[0]->entries = {0, 0};
  program.kernels[0]->scratch[0] = uint64_t(1) << 40;
  EXPECT_THAT(error(), HasSubstr("at most 2^32 bytes of scratch"));
  program.kernels[0]->scratch[0] = 0;
  program.code[1]->blob = 7;
  EXPECT_THAT(error(), HasSubstr("code for 'x86-64-v4': expected a blob "
                                 "below 1, got 7"));
}

TEST_F(Loader, RefusesBadArenas) {
  auto &arenas = artifact.program.programs[0]->arenas;
  arenas[0]->bytes = 128;
  EXPECT_THAT(error(), HasSubstr("arena 0: expected at most the state's 64 "
                                 "bytes, got 128"));
  arenas[0]->bytes = 64;
  arenas[1]->bytes = 8;
  EXPECT_THAT(error(), HasSubstr("a step block of 64 bytes, got 8"));
  arenas[1]->bytes = 64;
  arenas[2]->value = 1;
  EXPECT_THAT(error(), HasSubstr("expected an input below 1, got 1"));
  arenas[2]->value = 0;
  arenas[2]->bytes = 12;
  EXPECT_THAT(error(), HasSubstr("expected 16 bytes for input 'x', got 12"));
  arenas[2]->bytes = 16;
  arenas[3]->kind = format::ArenaKind::input;
  EXPECT_THAT(error(), HasSubstr("output 'y': expected one arena, got 0"));
  arenas[3]->kind = format::ArenaKind(42);
  EXPECT_THAT(error(), HasSubstr("expected a kind of arena, got 42"));
  arenas[3]->kind = format::ArenaKind::output;
  exec().addConstant(3, 64);
  EXPECT_THAT(error(), HasSubstr("expected a blob below 1, got 3"));
  arenas.back()->kind = format::ArenaKind::work;
  arenas.back()->bytes = ~uint64_t(0);
  EXPECT_THAT(error(), HasSubstr("at most 2^47 bytes"));
  for (int i = 0; i < 3; ++i)
    exec().addWork(uint64_t(1) << 46);
  arenas[4]->bytes = 0;
  EXPECT_THAT(error(), HasSubstr("work arenas: expected at most 2^47 bytes"));
}

TEST_F(Loader, RefusesBadLaunches) {
  auto command = [&](uint32_t kernel, format::Operand operand) {
    artifact.program.programs[0]->commands.clear();
    exec().launch(kernel, 1, {operand});
    return error();
  };
  EXPECT_THAT(command(4, exec().immediate(0)),
              HasSubstr("command 0 ('a launch'): expected a kernel below 1, "
                        "got 4"));
  EXPECT_THAT(command(0, exec().operand(exec().slice(9, 0, 4))),
              HasSubstr("operand 0: expected an arena below 4, got 9"));
  EXPECT_THAT(command(0, exec().operand(exec().slice(2, 8, 12))),
              HasSubstr("expected a slice of arena 2 (16 bytes), got 12 bytes "
                        "from offset 8"));
  EXPECT_THAT(command(0, exec().operand(exec().slice(2, ~uint64_t(0), 2))),
              HasSubstr("expected a slice of arena 2"));
  auto map = format::Operand(format::OperandKind::tensor_map, 0, {});
  EXPECT_THAT(command(0, map), HasSubstr("a tensor_map, which this runtime "
                                         "does not run"));
}

TEST_F(Loader, RefusesBadCopiesAndFills) {
  auto first = [&] {
    std::string message = error();
    artifact.program.programs[0]->commands.clear();
    return message;
  };
  exec().copy(exec().slice(2), exec().slice(3, 0, 8));
  EXPECT_THAT(first(), HasSubstr("expected a target of 16 bytes, got 8"));
  exec().copy(exec().slice(3), exec().slice(2));
  EXPECT_THAT(first(),
              HasSubstr("target: expected a writable arena, got one of kind "
                        "input"));
  exec().fill(exec().slice(1), 0);
  EXPECT_THAT(first(), HasSubstr("got one of kind step"));
  exec().fill(exec().slice(3), 0, 3);
  EXPECT_THAT(first(), HasSubstr("a width of 1, 2, 4 or 8 bytes, got 3"));
  exec().fill(exec().slice(3, 0, 6), 0, 4);
  EXPECT_THAT(first(), HasSubstr("whole patterns of 4 bytes, got 6 bytes"));
  exec().command(format::FillT());
  EXPECT_THAT(first(), HasSubstr("fill: expected a slice, got none"));
}

TEST_F(Loader, RefusesReservedCommandsByName) {
  auto first = [&] {
    std::string message = error();
    artifact.program.programs[0]->commands.clear();
    return message;
  };
  exec().command(format::CollectiveT(), "gradients");
  EXPECT_THAT(first(), HasSubstr("command 0 ('gradients'): expected launch, "
                                 "library, copy, fill or repeat, got the "
                                 "reserved command Collective"));
  exec().command(format::RecordT());
  EXPECT_THAT(first(), HasSubstr("reserved command Record"));
  exec().command(format::WaitT());
  EXPECT_THAT(first(), HasSubstr("reserved command Wait"));
  exec().command(format::HostT());
  EXPECT_THAT(first(), HasSubstr("reserved command Host"));
  exec().command(format::IfT());
  EXPECT_THAT(first(), HasSubstr("reserved command If"));
}

void Loader::convolutionError(void (*change)(format::ConvolutionT &),
                              const std::string &message) {
  format::ConvolutionT conv;
  conv.x = {1, 2, 5, 5};
  conv.w = {4, 2, 3, 3};
  conv.y = {1, 4, 3, 3};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {0, 0, 0, 0};
  change(conv);
  TestArtifact own;
  auto builder = own.addFunction("predict", {}, {});
  uint32_t x = builder.addWork(200), w = builder.addWork(288),
           y = builder.addWork(144);
  builder.convolution(conv,
                      {builder.slice(x), builder.slice(w), builder.slice(y)});
  std::string bytes = own.pack();
  auto program = Program::fromBytes(asBytes(bytes), "m.bsm");
  if (message.empty())
    EXPECT_TRUE(program.ok()) << program.status().message();
  else
    EXPECT_THAT(program.status().message(), HasSubstr(message));
}

TEST_F(Loader, ChecksConvolutions) {
  using Conv = format::ConvolutionT;
  convolutionError([](Conv &) {}, "");
  convolutionError([](Conv &c) { c.x = {1, 2, 5}; },
                   "convolution x: expected 4 numbers of at least 1, got "
                   "[1, 2, 5]");
  convolutionError([](Conv &c) { c.strides = {0, 1}; },
                   "convolution strides: expected 2 numbers of at least 1");
  convolutionError([](Conv &c) { c.pads[2] = -1; }, "convolution pads");
  convolutionError([](Conv &c) { c.w[0] = int64_t(1) << 40; }, "convolution w");
  convolutionError([](Conv &c) { c.y[2] = 4; },
                   "expected shapes that fit each other");
  convolutionError([](Conv &c) { c.groups = 2; },
                   "expected shapes that fit each other");
  convolutionError([](Conv &c) { c.groups = 0; },
                   "expected shapes that fit each other");
  convolutionError([](Conv &c) { c.x_layout = "nChw16c"; },
                   "convolution layout: expected row, or nChw16c for a "
                   "multiple of 16 channels, got nChw16c for x [1, 2, 5, 5]");
  convolutionError([](Conv &c) { c.y_layout = "nhwc"; },
                   "multiple of 16 channels, got nhwc for y [1, 4, 3, 3]");
  convolutionError([](Conv &c) { c.w_layout = "OIhw16i16o"; },
                   "convolution layout: expected row, or OIhw16i16o for "
                   "multiples of 16 channels in each group, got OIhw16i16o for "
                   "w [4, 2, 3, 3] and groups 1");
  convolutionError(
      [](Conv &c) {
        c.x = {1, 16, 5, 5};
        c.w = {16, 8, 3, 3};
        c.y = {1, 16, 3, 3};
        c.groups = 2;
        c.w_layout = "OIhw16i16o";
      },
      "got OIhw16i16o for w [16, 8, 3, 3] and groups 2");
  convolutionError([](Conv &c) { c.has_bias = true; },
                   "expected 4 operands, got 3");
  convolutionError(
      [](Conv &c) { c.kind = format::ConvolutionKind::weight_gradient; },
      "operand 1: expected 144 bytes, got 288");
  auto body = format::LibraryT();
  body.library = "cublaslt";
  body.descriptor.Set(Conv());
  exec().command(std::move(body));
  EXPECT_THAT(error(), HasSubstr("library: expected onednn, got cublaslt"));
}
