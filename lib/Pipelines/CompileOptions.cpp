// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the JSON form of a recipe.

#include "bessemer/Pipelines/CompileOptions.h"
#include "bessemer/Pipelines/ByteCount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cctype>
#include <cfloat>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

using nlohmann::json;

namespace bessemer {
namespace {

/// A recipe's error: one line for the user. `rest` follows the name of the
/// option, whatever that is called; it is all when there is no `key`.
struct RecipeError {
  std::optional<std::string> key;
  std::string rest;
};

[[noreturn]] void fail(const std::string &key, const std::string &expected,
                       const json &found) {
  throw RecipeError{key, ": expected " + expected + ", got " + found.dump()};
}

std::string getString(const std::string &key, const json &value) {
  if (!value.is_string())
    fail(key, "a string", value);
  return value.get<std::string>();
}

bool getBool(const std::string &key, const json &value) {
  if (!value.is_boolean())
    fail(key, "true or false", value);
  return value.get<bool>();
}

int64_t getInteger(const std::string &key, const json &value) {
  // One of 2^63 and more would become negative.
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
    fail(key, "an integer", value);
  return value.get<int64_t>();
}

int64_t getPositive(const std::string &key, const json &value) {
  int64_t number = getInteger(key, value);
  if (number < 1)
    fail(key, "a positive integer", value);
  return number;
}

/// A finite number in [low, high).
double getNumber(const std::string &key, const json &value, double low,
                 double high, const std::string &expected) {
  if (!value.is_number())
    fail(key, expected, value);
  double number = value.get<double>();
  if (!std::isfinite(number) || number < low || number >= high)
    fail(key, expected, value);
  return number;
}

double getNonNegative(const std::string &key, const json &value) {
  // Kernels compute with it in f32, where the next one is infinite.
  double end = std::nextafter(double(FLT_MAX), INFINITY);
  return getNumber(key, value, 0, end,
                   "a number of at least 0 that float32 holds");
}

double getFraction(const std::string &key, const json &value) {
  return getNumber(key, value, 0, 1, "a number in [0, 1)");
}

/// A number in [0, 1].
double getShare(const std::string &key, const json &value) {
  return getNumber(key, value, 0, std::nextafter(1.0, 2.0),
                   "a number in [0, 1]");
}

std::vector<std::string> getStrings(const std::string &key, const json &value) {
  if (value.is_string())
    return {value.get<std::string>()};
  if (!value.is_array())
    fail(key, "a list of strings", value);
  std::vector<std::string> strings;
  for (const json &entry : value)
    strings.push_back(getString(key, entry));
  return strings;
}

std::string getChoice(const std::string &key, const json &value,
                      const std::vector<std::string> &choices) {
  std::string text = getString(key, value);
  std::string list;
  for (const std::string &choice : choices) {
    if (text == choice)
      return text;
    list += (list.empty() ? "" : ", ") + choice;
  }
  fail(key, "one of " + list, value);
}

void readLoss(const std::string &key, const json &value,
              CompileOptions &options) {
  std::string problem;
  if (failed(parseLoss(getString(key, value), options.training,
                       [&](const llvm::Twine &text) { problem = text.str(); })))
    throw RecipeError{key, ": " + problem};
  options.hasLoss = true;
}

constexpr llvm::StringLiteral optimizerConstants[] = {
    "lr",       "weight_decay", "momentum", "dampening",
    "nesterov", "eps",          "betas",    "lazy_embeddings"};

void readOptimizer(const json &value, CompileOptions &options) {
  if (value.is_string())
    return readOptimizer(json{{"kind", value}}, options);
  if (!value.is_object())
    fail("optimizer", "an object such as {\"kind\": \"adamw\", \"lr\": 0.001}",
         value);
  const json kind = value.value("kind", json("sgd"));
  OptimizerOptions &optimizer = options.training.optimizer;
  std::string problem;
  if (failed(parseOptimizer(
          getString("optimizer.kind", kind), optimizer,
          [&](const llvm::Twine &text) { problem = text.str(); })))
    throw RecipeError{"optimizer.kind", ": " + problem};
  bool adamw = optimizer.kind == OptimizerOptions::Kind::AdamW;
  for (const auto &[name, entry] : value.items()) {
    std::string key = "optimizer." + name;
    if (name == "kind")
      continue;
    if (name == "lr")
      options.learningRate = getNonNegative(key, entry);
    else if (name == "weight_decay")
      optimizer.weightDecay = getNonNegative(key, entry);
    else if (!adamw && name == "momentum")
      optimizer.momentum = getNonNegative(key, entry);
    else if (!adamw && name == "dampening")
      optimizer.dampening = getNumber(key, entry, -FLT_MAX, FLT_MAX,
                                      "a number that float32 holds");
    else if (!adamw && name == "nesterov")
      optimizer.nesterov = getBool(key, entry);
    else if (adamw && name == "eps")
      optimizer.epsilon = getNonNegative(key, entry);
    else if (adamw && name == "lazy_embeddings")
      optimizer.lazyEmbeddings = getBool(key, entry);
    else if (adamw && name == "betas") {
      if (!entry.is_array() || entry.size() != 2)
        fail(key, "two numbers", entry);
      optimizer.beta1 = getFraction(key, entry[0]);
      optimizer.beta2 = getFraction(key, entry[1]);
    } else {
      std::string known =
          adamw ? "lr, betas, eps, weight_decay, lazy_embeddings"
                : "lr, momentum, dampening, nesterov, weight_decay";
      throw RecipeError{key, ": " + stringifyOptimizer(optimizer.kind).str() +
                                 " has no such constant, expected one of " +
                                 known};
    }
  }
}

std::map<std::string, int64_t> getDims(const json &value) {
  if (!value.is_object())
    fail("dims", "an object of name: size", value);
  std::map<std::string, int64_t> dims;
  for (const auto &[name, entry] : value.items())
    dims[name] = getPositive("dims." + name, entry);
  return dims;
}

std::vector<std::string> getTargets(const json &value) {
  std::vector<std::string> targets = getStrings("targets", value);
  if (targets.empty())
    fail("targets", "at least one target", value);
  for (const std::string &target : targets)
    getChoice("targets", target, {"cpu", "cpu:x86-64-v3", "cpu:x86-64-v4"});
  return targets;
}

/// A number of bytes, or a text with a unit.
int64_t getBytes(const std::string &key, const json &value) {
  std::optional<int64_t> bytes;
  if (value.is_string())
    bytes = parseByteCount(value.get_ref<const std::string &>());
  else if (value.is_number_integer())
    bytes = parseByteCount(value.dump());
  if (!bytes)
    fail(key, byteCountForm, value);
  return *bytes;
}

EmitKind getEmit(const json &value) {
  std::string kind =
      getChoice("emit", value, {"artifact", "graph", "kern", "exec", "llvm"});
  return kind == "graph"  ? EmitKind::Graph
         : kind == "kern" ? EmitKind::Kern
         : kind == "exec" ? EmitKind::Exec
         : kind == "llvm" ? EmitKind::LLVM
                          : EmitKind::Artifact;
}

void parse(const json &object, CompileOptions &options) {
  using Reader = std::function<void(const std::string &, const json &)>;
  const std::map<std::string, Reader> readers = {
      {"model", [&](auto &k, auto &v) { options.model = getString(k, v); }},
      {"base_dir",
       [&](auto &k, auto &v) { options.baseDir = getString(k, v); }},
      {"loss", [&](auto &k, auto &v) { readLoss(k, v, options); }},
      {"output_name",
       [&](auto &k, auto &v) {
         options.training.outputName = getString(k, v);
       }},
      {"class_axis",
       [&](auto &k, auto &v) {
         options.training.classAxis = getInteger(k, v);
       }},
      {"ignore_index",
       [&](auto &k, auto &v) {
         options.training.ignoreIndex = getInteger(k, v);
       }},
      {"label_smoothing",
       [&](auto &k, auto &v) {
         options.training.labelSmoothing = getShare(k, v);
       }},
      {"optimizer", [&](auto &, auto &v) { readOptimizer(v, options); }},
      {"clip_norm",
       [&](auto &k, auto &v) {
         const std::string expected = "a number " + kClipNormRange.str();
         double norm = getNumber(k, v, -INFINITY, INFINITY, expected);
         if (!isClipNorm(norm))
           fail(k, expected, v);
         options.training.clipNorm = norm;
       }},
      {"accumulate",
       [&](auto &k, auto &v) {
         options.training.accumulate = getPositive(k, v);
       }},
      {"batch_norm_variance",
       [&](auto &k, auto &v) {
         options.training.batchNormVariance =
             getChoice(k, v, {"biased", "unbiased"}) == "biased"
                 ? BatchNormVariance::Biased
                 : BatchNormVariance::Unbiased;
       }},
      {"train", [&](auto &k, auto &v) { options.train = getStrings(k, v); }},
      {"freeze",
       [&](auto &k, auto &v) { options.training.freeze = getStrings(k, v); }},
      {"dims", [&](auto &, auto &v) { options.dims = getDims(v); }},
      {"batch", [&](auto &k, auto &v) { options.batch = getPositive(k, v); }},
      {"memory_limit",
       [&](auto &k, auto &v) {
         options.memoryLimit = getBytes(k, v);
         options.settings.emplace_back(k, std::to_string(*options.memoryLimit));
       }},
      {"targets", [&](auto &, auto &v) { options.targets = getTargets(v); }},
      {"precision", [&](auto &k, auto &v) { getChoice(k, v, {"f32"}); }},
      {"strict", [&](auto &k, auto &v) { options.strict = getBool(k, v); }},
      {"emit", [&](auto &, auto &v) { options.emit = getEmit(v); }},
      {"dump_dir",
       [&](auto &k, auto &v) { options.dumpDir = getString(k, v); }},
      {"verify_numerics",
       [&](auto &k, auto &v) { options.verifyNumerics = getBool(k, v); }},
      {"reproducer",
       [&](auto &k, auto &v) { options.reproducer = getString(k, v); }},
      {"pass_plugins",
       [&](auto &k, auto &v) { options.passPlugins = getStrings(k, v); }},
      {"inject_pass",
       [&](auto &k, auto &v) { options.injectPass = getString(k, v); }},
  };
  for (const auto &[key, value] : object.items()) {
    auto reader = readers.find(key);
    if (reader == readers.end()) {
      if (llvm::is_contained(optimizerConstants, key))
        throw RecipeError{key, " is a constant of the optimizer: expected it "
                               "in optimizer, {\"kind\": ..., \"" +
                                   key + "\": ...}"};
      std::string known;
      for (const auto &[name, unused] : readers)
        known += (known.empty() ? "" : ", ") + name;
      throw RecipeError{key, " is unknown, expected one of " + known};
    }
    if (!value.is_null())
      reader->second(key, value);
  }
}

/// What the user calls an option is how errors call it: "--batch", or
/// "recipe.yaml:3: batch". `origins` has it by key; the sizes of `dims` are
/// entries of one flag.
std::string named(const RecipeError &error, const json &origins) {
  auto originOf = [&](const std::string &key) -> const std::string * {
    auto found = origins.find(key);
    return found != origins.end() && found->is_string()
               ? found->get_ptr<const std::string *>()
               : nullptr;
  };
  if (!error.key)
    return error.rest;
  const std::string &key = *error.key;
  if (const std::string *origin = originOf(key))
    return *origin + error.rest;
  size_t dot = key.find('.');
  if (dot != std::string::npos)
    if (const std::string *origin = originOf(key.substr(0, dot)))
      return *origin + " '" + key.substr(dot + 1) + "'" + error.rest;
  return "option '" + key + "'" + error.rest;
}

/// Shortest text that reads back as the same double.
std::string text(double number) { return json(number).dump(); }

/// What run time checks against and `inspect` shows.
void recordSettings(CompileOptions &options) {
  auto add = [&](const std::string &key, const std::string &value) {
    options.settings.emplace_back(key, value);
  };
  if (options.hasLoss) {
    const TrainingOptions &training = options.training;
    const OptimizerOptions &optimizer = training.optimizer;
    add("loss", stringifyLoss(training.loss).str());
    if (!training.outputName.empty())
      add("output_name", training.outputName);
    if (training.classAxis)
      add("class_axis", std::to_string(*training.classAxis));
    add("ignore_index", std::to_string(training.ignoreIndex));
    if (training.labelSmoothing != 0)
      add("label_smoothing", text(training.labelSmoothing));
    add("optimizer", stringifyOptimizer(optimizer.kind).str());
    add("lr", text(options.learningRate));
    add("weight_decay", text(optimizer.getWeightDecay()));
    if (optimizer.kind == OptimizerOptions::Kind::Sgd) {
      add("momentum", text(optimizer.momentum));
      add("dampening", text(optimizer.dampening));
      add("nesterov", optimizer.nesterov ? "true" : "false");
    } else {
      add("betas",
          "[" + text(optimizer.beta1) + ", " + text(optimizer.beta2) + "]");
      add("eps", text(optimizer.epsilon));
      if (optimizer.lazyEmbeddings)
        add("lazy_embeddings", "true");
    }
    if (training.clipNorm)
      add("clip_norm", text(*training.clipNorm));
    if (training.accumulate != 1)
      add("accumulate", std::to_string(training.accumulate));
    if (!options.train.empty())
      add("train", json(options.train).dump());
    if (!training.freeze.empty())
      add("freeze", json(training.freeze).dump());
    if (training.batchNormVariance != BatchNormVariance::FromProducer)
      add("batch_norm_variance",
          training.batchNormVariance == BatchNormVariance::Biased ? "biased"
                                                                  : "unbiased");
  }
  add("precision", "f32");
  add("strict", options.strict ? "true" : "false");
}

} // namespace

std::optional<CompileOptions> parseCompileOptions(const std::string &text,
                                                  std::string &error) {
  CompileOptions options;
  json origins;
  try {
    json object = json::parse(text);
    if (!object.is_object())
      throw RecipeError{std::nullopt, "expected the options as a JSON object"};
    if (object.contains("@origins")) {
      origins = object["@origins"];
      object.erase("@origins");
    }
    parse(object, options);
    // Without a loss nothing is trained; what says how would be lost.
    for (const char *key :
         {"optimizer", "clip_norm", "label_smoothing", "ignore_index",
          "class_axis", "batch_norm_variance", "output_name", "accumulate"})
      if (!options.hasLoss && object.contains(key) && !object[key].is_null())
        throw RecipeError{key, " needs a loss, got none"};
    std::string problem;
    if (options.hasLoss &&
        failed(verifyOptions(options.training, [&](const llvm::Twine &text) {
          problem = text.str();
        })))
      throw RecipeError{std::nullopt, problem};
  } catch (const RecipeError &problem) {
    error = named(problem, origins);
    // Names and texts of users may hold line breaks.
    std::replace_if(
        error.begin(), error.end(),
        [](unsigned char c) { return std::iscntrl(c); }, ' ');
    return std::nullopt;
  } catch (const json::exception &problem) {
    error = std::string("cannot read the options: ") + problem.what();
    return std::nullopt;
  }
  recordSettings(options);
  return options;
}

} // namespace bessemer
