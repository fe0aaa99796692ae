// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checkpoints: exact, whole or absent, and damage is named.
#include "bessemer/runtime/Checkpoint.h"
#include "TrainedArtifact.h"

#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A session whose states differ from the initial ones.
std::unique_ptr<Session> trained() {
  auto session = trainedArtifact().session();
  std::vector<float> p(64);
  for (int i = 0; i < 64; ++i)
    p[i] = 0.1f * float(i);
  EXPECT_TRUE(
      session->writeState("p", {session->states()[0].type, p.data()}).ok());
  int64_t seen = 1234567890123;
  EXPECT_TRUE(
      session->writeState("seen", {session->states()[1].type, &seen}).ok());
  return session;
}

std::string stateBytes(const Session &session) {
  std::string bytes;
  for (const std::string &name : session.stateNames()) {
    auto view = session.readState(name);
    EXPECT_TRUE(view.ok());
    bytes.append(static_cast<const char *>(view->data), view->byteSize());
  }
  return bytes;
}

TrainerState someTrainer() {
  TrainerState state;
  state.step = 17;
  state.cursor = {2, 96};
  state.seed = ~uint64_t(0);
  state.dataRows = 1000;
  state.settings = {{"lr", "0.001"}, {"schedule", "cosine"}};
  state.best = 0.1 + 0.2;
  state.evaluatedStep = 16;
  state.target = "x86-64-v4";
  state.library = "oneDNN 2.6.3";
  state.threads = 2;
  return state;
}

struct Saved {
  TemporaryFolder folder;
  std::string path = folder / "checkpoint";
  std::string stateFile = path + "/state.safetensors";
  std::string trainerFile = path + "/trainer.json";
  Saved() {
    TrainerState trainer = someTrainer();
    Status status = saveCheckpoint(path, *trained(), &trainer);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  /// What loading says after the state file is replaced.
  std::string errorWith(const std::string &bytes) {
    writeFile(stateFile, bytes);
    auto session = trainedArtifact().session();
    std::string before = stateBytes(*session);
    auto loaded = loadCheckpoint(path, *session);
    EXPECT_EQ(stateBytes(*session) == before, !loaded.ok());
    return loaded.ok() ? "no error" : loaded.status().message();
  }
};

/// Replaces text in the JSON header without moving anything.
std::string edited(std::string bytes, const std::string &from,
                   const std::string &to) {
  EXPECT_EQ(from.size(), to.size());
  size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return bytes.replace(at, from.size(), to);
}

} // namespace

TEST(Checkpoint, RestoresEveryBit) {
  Saved saved;
  auto session = trainedArtifact().session();
  auto trainer = loadCheckpoint(saved.path, *session);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_EQ(stateBytes(*session), stateBytes(*trained()));
  ASSERT_TRUE(trainer->has_value());
  TrainerState want = someTrainer();
  EXPECT_EQ((*trainer)->step, want.step);
  EXPECT_EQ((*trainer)->cursor, want.cursor);
  EXPECT_EQ((*trainer)->seed, want.seed);
  EXPECT_EQ((*trainer)->dataRows, want.dataRows);
  EXPECT_EQ((*trainer)->settings, want.settings);
  EXPECT_EQ((*trainer)->best, want.best);
  EXPECT_EQ((*trainer)->evaluatedStep, want.evaluatedStep);
  EXPECT_EQ((*trainer)->target, want.target);
  EXPECT_EQ((*trainer)->library, want.library);
  EXPECT_EQ((*trainer)->threads, want.threads);
}

TEST(Checkpoint, IsFoundInTheDirectoryOfARun) {
  TemporaryFolder folder;
  EXPECT_FALSE(*findCheckpoint(folder.path));
  ASSERT_TRUE(saveCheckpoint(folder / "last", *trained()).ok());
  EXPECT_EQ(*findCheckpoint(folder.path), folder / "last");
  auto session = trainedArtifact().session();
  auto trainer = loadCheckpoint(folder.path, *session);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  EXPECT_FALSE(trainer->has_value());
  EXPECT_THAT(loadCheckpoint(folder / "none", *session).status().message(),
              HasSubstr("no checkpoint"));
}

TEST(Checkpoint, ReplacesAndLeavesNothingBeside) {
  TemporaryFolder folder;
  for (uint64_t step : {1, 2, 3}) {
    TrainerState trainer = someTrainer();
    trainer.step = step;
    ASSERT_TRUE(saveCheckpoint(folder / "c/", *trained(), &trainer).ok());
  }
  auto session = trainedArtifact().session();
  auto loaded = loadCheckpoint(folder / "c", *session);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->step, 3u);
  size_t entries = 0;
  for ([[maybe_unused]] const auto &entry : fs::directory_iterator(folder.path))
    ++entries;
  EXPECT_EQ(entries, 1u);
}

TEST(Checkpoint, SurvivesWhatACrashLeaves) {
  Saved saved;
  // Died while writing the next one: half a directory beside.
  fs::create_directory(saved.path + ".new");
  writeFile(saved.path + ".new/state.safetensors", "half");
  auto session = trainedArtifact().session();
  EXPECT_TRUE(loadCheckpoint(saved.path, *session).ok());
  EXPECT_TRUE(saveCheckpoint(saved.path, *trained()).ok());
  EXPECT_FALSE(fs::exists(saved.path + ".new"));
  // Died between the two renames, where directories cannot be exchanged.
  fs::rename(saved.path, saved.path + ".old");
  EXPECT_TRUE(loadCheckpoint(saved.path, *session).ok());
  EXPECT_TRUE(saveCheckpoint(saved.path, *trained()).ok());
  EXPECT_FALSE(fs::exists(saved.path + ".old"));
  EXPECT_TRUE(loadCheckpoint(saved.path, *session).ok());
}

TEST(Checkpoint, LeavesOtherDirectoriesAlone) {
  TemporaryFolder folder;
  writeFile(folder / "thesis.txt", "precious");
  EXPECT_THAT(saveCheckpoint(folder.path, *trained()).message(),
              HasSubstr("it holds 'thesis.txt'"));
  EXPECT_EQ(readFile(folder / "thesis.txt"), "precious");
  EXPECT_THAT(saveCheckpoint(folder / "thesis.txt", *trained()).message(),
              HasSubstr("expected a directory"));
  EXPECT_FALSE(saveCheckpoint("/proc/nowhere/c", *trained()).ok());
}

TEST(Checkpoint, NamesTheDamagedState) {
  Saved saved;
  std::string whole = readFile(saved.stateFile);
  std::string flipped = whole;
  flipped[whole.size() - 10] ^= 4; // In p, the last one.
  EXPECT_THAT(saved.errorWith(flipped),
              HasSubstr("state 'p': checksum differs"));
  EXPECT_THAT(saved.errorWith(edited(whole, "\"seen\"", "\"sewn\"")),
              HasSubstr("state 'seen' is missing"));
  EXPECT_THAT(saved.errorWith(edited(whole, "[4,16]", "[16,4]")),
              HasSubstr("state 'p': expected f32[4x16], got f32[16x4]"));
  EXPECT_THAT(saved.errorWith(edited(whole, "\"F32\"", "\"I32\"")),
              HasSubstr("state 'p': expected f32[4x16], got i32[4x16]"));
  EXPECT_THAT(saved.errorWith(edited(whole, "\"F32\"", "\"Q32\"")),
              HasSubstr("tensor 'p': unknown dtype"));
  EXPECT_THAT(saved.errorWith(edited(whole, "[4,16]", "[4,17]")),
              HasSubstr("expected 272 bytes"));
  EXPECT_THAT(saved.errorWith(edited(whole, "[8,16]", "[0,08]")),
              HasSubstr("damaged"));
  EXPECT_THAT(saved.errorWith(edited(whole, "[8,16]", "[0, 8]")),
              HasSubstr("expected offset 8, got 0"));
  EXPECT_THAT(saved.errorWith(whole + "more"), HasSubstr("bytes of elements"));
}

TEST(Checkpoint, AnExtraStateIsAnError) {
  Saved saved;
  auto other = TestArtifact();
  other.addState("p", bessemer::format::ElementType::f32, {4, 16});
  other.addFunction("f", {}, {});
  auto session = other.session();
  EXPECT_THAT(loadCheckpoint(saved.path, *session).status().message(),
              HasSubstr("is not in the program"));
}

TEST(Checkpoint, EveryTruncationAndBitFlipIsAnError) {
  Saved saved;
  std::string whole = readFile(saved.stateFile);
  for (size_t size = 0; size < whole.size(); size += 1 + size / 64)
    EXPECT_NE(saved.errorWith(whole.substr(0, size)), "no error") << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    // Padding may change to other white space without harm.
    if (whole[at] == ' ')
      continue;
    std::string flipped = whole;
    flipped[at] ^= 1;
    EXPECT_NE(saved.errorWith(flipped), "no error") << at;
  }
}

TEST(Checkpoint, DamagedTrainerFilesAreErrors) {
  Saved saved;
  std::string whole = readFile(saved.trainerFile);
  auto errorWith = [&](const std::string &text) {
    writeFile(saved.trainerFile, text);
    auto session = trainedArtifact().session();
    return loadCheckpoint(saved.path, *session).status().message();
  };
  EXPECT_EQ(errorWith(whole), "");
  EXPECT_THAT(errorWith(edited(whole, "\"step\": 17", "\"step\": 18")),
              HasSubstr("checksum differs"));
  EXPECT_THAT(errorWith(edited(whole, "\"step\"", "\"stop\"")),
              HasSubstr("'step' is missing"));
  EXPECT_THAT(errorWith(whole.substr(0, 40)), HasSubstr("no JSON object"));
  EXPECT_THAT(errorWith(edited(whole, "\"format\": 1", "\"format\": 2")),
              HasSubstr("expected format 1, got 2"));
  // The trainer.json of another checkpoint.
  TemporaryFolder folder;
  TrainerState trainer = someTrainer();
  ASSERT_TRUE(
      saveCheckpoint(folder / "initial", *trainedArtifact().session(), &trainer)
          .ok());
  EXPECT_THAT(errorWith(readFile(folder / "initial/trainer.json")),
              HasSubstr("another state.safetensors"));
}

TEST(Checkpoint, MakesTheDirectoriesAbove) {
  TemporaryFolder folder;
  ASSERT_TRUE(saveCheckpoint(folder / "a//b/c/d/", *trained()).ok());
  auto session = trainedArtifact().session();
  EXPECT_TRUE(loadCheckpoint(folder / "a/b/c/d", *session).ok());
  writeFile(folder / "file", "");
  EXPECT_THAT(saveCheckpoint(folder / "file/b/c", *trained()).message(),
              HasSubstr("file: cannot create: Not a directory"));
}
