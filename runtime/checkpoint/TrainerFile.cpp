// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// trainer.json: what a person may want to read, with a hash over all of it.
#include "checkpoint/TrainerFile.h"
#include "checkpoint/Safetensors.h"

#include <nlohmann/json.hpp>

namespace bessemer::runtime::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t formatVersion = 1;
constexpr int deepest = 16;

std::string hashOf(const Json &object) {
  // Text that is not Unicode (a path in a setting) must not stop a checkpoint.
  std::string text =
      object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return hashText(text.data(), text.size());
}

/// Reads keys of known type; remembers the first that is missing or wrong.
struct Reader {
  const Json &object;
  std::string wrong;

  uint64_t number(const char *key) {
    if (object.contains(key) && object[key].is_number_unsigned())
      return object[key].get<uint64_t>();
    if (wrong.empty())
      wrong = key;
    return 0;
  }
  std::string text(const char *key) {
    if (object.contains(key) && object[key].is_string())
      return object[key].get<std::string>();
    if (wrong.empty())
      wrong = key;
    return "";
  }
};

} // namespace

std::string writeTrainer(const TrainerState &state, const std::string &states) {
  Json object;
  object["format"] = formatVersion;
  object["step"] = state.step;
  object["epoch"] = state.cursor.epoch;
  object["position"] = state.cursor.position;
  object["seed"] = state.seed;
  object["data_rows"] = state.dataRows;
  object["settings"] = Json::object();
  for (const auto &[key, value] : state.settings)
    object["settings"][key] = value;
  object["best"] = nullptr;
  if (state.best)
    object["best"] = *state.best;
  object["evaluated_step"] = state.evaluatedStep;
  object["target"] = state.target;
  object["library"] = state.library;
  object["threads"] = state.threads;
  object["artifact"] = state.artifact;
  object["computation"] = state.computation;
  object["artifact_format"] = state.format;
  object["variant"] = state.variant;
  object["states"] = states;
  object["hash"] = hashOf(object);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<TrainerState> readTrainer(const std::string &path,
                                   std::string_view text,
                                   const std::string &states) {
  auto damaged = [&](const std::string &what) {
    return Status::invalidInput(path + ": " + what);
  };
  // Hashing recurses, so a damaged file must not nest without end.
  bool tooDeep = false;
  Json object = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json &) {
        tooDeep |= depth > deepest;
        return depth <= deepest;
      },
      /*allow_exceptions=*/false);
  if (!object.is_object() || tooDeep)
    return damaged("the file is damaged (no JSON object)");
  Reader reader{object, {}};
  uint64_t version = reader.number("format");
  if (reader.wrong.empty() && version != formatVersion)
    return damaged("expected format " + std::to_string(formatVersion) +
                   ", got " + std::to_string(version));
  std::string hash = reader.text("hash");
  TrainerState state;
  state.step = reader.number("step");
  state.cursor = {reader.number("epoch"), reader.number("position")};
  state.seed = reader.number("seed");
  state.dataRows = reader.number("data_rows");
  state.evaluatedStep = reader.number("evaluated_step");
  state.target = reader.text("target");
  state.library = reader.text("library");
  state.threads = static_cast<int>(reader.number("threads"));
  state.artifact = reader.text("artifact");
  std::string writtenWith = reader.text("states");
  if (!reader.wrong.empty())
    return damaged("'" + reader.wrong + "' is missing or damaged");
  object.erase("hash");
  if (hashOf(object) != hash)
    return damaged("checksum differs; the file is damaged");
  if (writtenWith != states)
    return damaged("belongs to another state.safetensors");
  if (state.step > mostSteps)
    return damaged("step: expected at most " + std::to_string(mostSteps) +
                   ", got " + std::to_string(state.step));
  // Absent in files of earlier versions.
  auto late = [&](const char *key, std::string &to) {
    if (object.contains(key) && object[key].is_string())
      to = object[key].get<std::string>();
  };
  late("computation", state.computation);
  late("artifact_format", state.format);
  late("variant", state.variant);
  if (object.contains("best") && object["best"].is_number())
    state.best = object["best"].get<double>();
  if (object.contains("settings") && object["settings"].is_object())
    for (const auto &[key, value] : object["settings"].items())
      if (value.is_string())
        state.settings[key] = value.get<std::string>();
  return state;
}

} // namespace bessemer::runtime::checkpoint
