// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutants of a checkpoint's two files: each is loaded or refused with one line,
// and a refused one leaves the session as it was. Lengths and hashes are made
// to fit in most of them, so that they get to the checks behind.
#include "../../MutateText.h"
#include "TrainedArtifact.h"
#include "bessemer/runtime/Checkpoint.h"

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace bessemer::test;
using namespace bessemer::runtime;

namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view tokens[] = {"{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "\"",
                                       "\\n",
                                       "\\u0000",
                                       "\\ud800",
                                       "null",
                                       "true",
                                       "-1",
                                       "0",
                                       "1e999",
                                       "18446744073709551615",
                                       "9223372036854775808",
                                       "[0,8]",
                                       "[8,0]",
                                       "\"F32\"",
                                       "\"I64\"",
                                       "\"BOOL\"",
                                       "\"__metadata__\":{},",
                                       "\"p\":",
                                       "\"seen\":",
                                       "\"\":",
                                       " ",
                                       "\xff"};

constexpr TextFormat jsonText{tokens, "[{", 200000};

/// A value anywhere in the object, replaced.
void mutateJson(Json &json, Random &random) {
  if (json.is_structured() && !json.empty() && below(random, 4)) {
    auto at = json.begin();
    std::advance(at, below(random, json.size()));
    return mutateJson(*at, random);
  }
  switch (below(random, 7)) {
  case 0:
    json = nullptr;
    break;
  case 1:
    json = "text\nwith a line";
    break;
  case 2:
    json = -1;
    break;
  case 3:
    json = ~uint64_t(0);
    break;
  case 4:
    json = Json::array({0, json});
    break;
  case 5:
    json = Json::object({{"a\nb", json}});
    break;
  default:
    json = 1e300;
  }
}

std::string mutateState(const std::string &whole, Random &random) {
  uint64_t length;
  std::memcpy(&length, whole.data(), sizeof length);
  std::string head = whole.substr(sizeof length, length),
              rest = whole.substr(sizeof length + length);
  switch (below(random, 4)) {
  case 0: {
    std::string mutant = whole;
    mutateText(mutant, jsonText, random);
    return mutant;
  }
  case 1: {
    Json json = Json::parse(head);
    mutateJson(json, random);
    head = json.dump();
    break;
  }
  default:
    for (size_t i = 0, end = 1 + below(random, 3); i < end; ++i)
      mutateText(head, jsonText, random);
  }
  length = head.size();
  std::string mutant(sizeof length, '\0');
  std::memcpy(mutant.data(), &length, sizeof length);
  return mutant + head + rest;
}

std::string mutateTrainer(const std::string &whole, Random &random) {
  std::string mutant = whole;
  if (below(random, 3) == 0) {
    for (size_t i = 0, end = 1 + below(random, 3); i < end; ++i)
      mutateText(mutant, jsonText, random);
    return mutant;
  }
  Json json = Json::parse(whole);
  json.erase("hash");
  for (size_t i = 0, end = 1 + below(random, 2); i < end; ++i)
    mutateJson(json, random);
  // With the hash of what it now holds.
  if (json.is_object()) {
    std::string text = json.dump();
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(
                      bessemer::format::hash64(text.data(), text.size())));
    json["hash"] = hash;
  }
  return json.dump();
}

std::string stateBytes(const Session &session) {
  std::string bytes;
  for (const std::string &name : session.stateNames()) {
    auto view = session.readState(name);
    bytes.append(static_cast<const char *>(view->data), view->byteSize());
  }
  return bytes;
}

} // namespace

TEST(CheckpointFuzz, EveryMutantIsLoadedOrRefused) {
  TemporaryFolder folder;
  std::string path = folder / "c", stateFile = path + "/state.safetensors",
              trainerFile = path + "/trainer.json";
  auto session = trainedArtifact().session();
  TrainerState trainer;
  trainer.step = 17;
  trainer.settings = {{"lr", "0.001"}, {"schedule", "cosine"}};
  trainer.best = 0.5;
  ASSERT_TRUE(saveCheckpoint(path, *session, &trainer).ok());
  const std::string wholeState = readFile(stateFile),
                    wholeTrainer = readFile(trainerFile);

  int loaded = 0, total = 2000;
  for (int round = 0; round < total; ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<unsigned>(round));
    bool ofState = round % 2;
    writeFile(stateFile,
              ofState ? mutateState(wholeState, random) : wholeState);
    // The trainer's file holds the state file's hash, so it is left out there.
    if (ofState)
      ::remove(trainerFile.c_str());
    else
      writeFile(trainerFile, mutateTrainer(wholeTrainer, random));
    std::string before = stateBytes(*session);
    auto begin = std::chrono::steady_clock::now();
    auto result = loadCheckpoint(path, *session);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 5);
    if (result) {
      ++loaded;
      continue;
    }
    EXPECT_EQ(result.status().message().find(path), 0u)
        << result.status().message();
    EXPECT_EQ(result.status().message().find('\n'), std::string::npos)
        << result.status().message();
    EXPECT_EQ(stateBytes(*session), before);
  }
  // Otherwise only the parser would be tested.
  EXPECT_GT(loaded, total / 50);
  EXPECT_LT(loaded, total / 2);
}
