// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer run: call one function, files in and out.
#include "DataFlags.h"
#include "Subcommand.h"

#include "bessemer/runtime/BatchLoader.h"
#include "bessemer/runtime/Checkpoint.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

namespace bessemer::tool {
namespace {

using namespace runtime;

constexpr Flag flags[] = {
    {"function", FlagKind::Text, "NAME", "the function to call (predict)"},
    {"input", FlagKind::Pairs, "NAME=FILE",
     "each input's file (.npy, .npz:NAME, IDX, also .gz)"},
    {"output-dir", FlagKind::Text, "DIR", "write each result to DIR/NAME.npy"},
    {"checkpoint", FlagKind::Text, "DIR",
     "a checkpoint, or the directory of a run; its parameters and statistics, "
     "for train_step all of it (default: initial weights)"},
    {"lr", FlagKind::Number, "X", "learning rate of the step (train_step)",
     nullptr, 0, FLT_MAX},
    {"step", FlagKind::Integer, "N", "number of the step (0)", nullptr, 0,
     double(mostSteps)},
    {"seed", FlagKind::Integer, "N", "seed of the step (0)", nullptr, 0},
};

/// One result, collected over batches.
struct Collected {
  ValueInfo info;
  std::vector<std::byte> bytes;
  int64_t rows = 0;
};

/// predict works row by row, so any number of rows can be split and padded;
/// the results of other functions belong to a whole batch.
bool takesAnyRows(const FunctionInfo &function) {
  return function.name == "predict";
}

Status checkRows(const FunctionInfo &function, const BoundData &data) {
  if (!takesAnyRows(function)) {
    if (data.rows() != data.batch())
      return Status::invalidInput("function '" + function.name +
                                  "': expected a batch of " +
                                  std::to_string(data.batch()) + " rows, got " +
                                  std::to_string(data.rows()));
    return {};
  }
  for (const ValueInfo &output : function.outputs)
    if (data.rows() != data.batch() &&
        (output.type.shape.empty() || output.type.shape[0] != data.batch()))
      return Status::invalidInput(
          "output '" + output.name + "' (" + output.type.str() +
          ") has no row per input row: expected " +
          std::to_string(data.batch()) + " input rows, got " +
          std::to_string(data.rows()));
  return {};
}

/// Adds the rows that count.
Status collect(const Session &session, const FunctionInfo &function,
               int64_t validRows, bool split, std::vector<Collected> &results) {
  for (Collected &result : results) {
    Expected<TensorView> view = session.output(function.name, result.info.name);
    if (!view)
      return view.status();
    size_t bytes = view->byteSize();
    if (split)
      bytes = bytes / static_cast<size_t>(view->shape[0]) *
              static_cast<size_t>(validRows);
    const auto *data = static_cast<const std::byte *>(view->data);
    result.bytes.insert(result.bytes.end(), data, data + bytes);
    result.rows += validRows;
  }
  return {};
}

/// Names of values may hold slashes; files may not.
std::string fileName(const ValueInfo &output) {
  std::string name = output.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name + ".npy";
}

/// Results of different names may not end in one file.
Status checkFileNames(const FunctionInfo &function) {
  std::map<std::string, std::string> outputs;
  for (const ValueInfo &output : function.outputs) {
    auto [other, isNew] = outputs.try_emplace(fileName(output), output.name);
    if (!isNew)
      return Status::invalidInput("--output-dir: the outputs '" +
                                  other->second + "' and '" + output.name +
                                  "' would both be " + other->first +
                                  "; rename one of them in the model");
  }
  return {};
}

Status writeResults(const std::string &directory,
                    const std::vector<Collected> &results) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Status::invalidInput(directory +
                                ": cannot create: " + error.message());
  for (const Collected &result : results)
    BESSEMER_RETURN_IF_ERROR(writeNpy(directory + "/" + fileName(result.info),
                                      {result.info.type, result.bytes.data()}));
  return {};
}

void printResults(const std::vector<Collected> &results) {
  for (const Collected &result : results) {
    std::printf("%s %s", result.info.name.c_str(),
                result.info.type.str().c_str());
    if (result.info.type.element == ElementType::F32 &&
        result.bytes.size() == sizeof(float)) {
      float value;
      std::memcpy(&value, result.bytes.data(), sizeof value);
      std::printf(" = %.9g", static_cast<double>(value));
    }
    std::printf("\n");
  }
}

/// train and eval take uint8 for pixels and multiply by 1/255; here either
/// could be meant, and the wrong one only shows as bad results.
Status checkScale(const Arguments &arguments, const Array &column,
                  const ValueInfo &input, const BindOptions &options) {
  ElementType to = input.type.element;
  if (arguments.has("scale") || input.name == options.labels ||
      column.type.element != ElementType::U8 ||
      (to != ElementType::F32 && to != ElementType::F64))
    return {};
  return Status::invalidInput(
      "input '" + input.name + "' (" + input.type.str() +
      "): expected floats or --scale, got uint8; train and eval multiply uint8 "
      "by 1/255: give --scale 0.00392156862745098 for the same, or --scale 1 "
      "for the numbers as they are");
}

/// Inputs are taken as they are: no scaling behind the caller's back.
Expected<std::shared_ptr<const BoundData>>
bindInputs(const Arguments &arguments, const FunctionInfo &function) {
  Expected<DataSet> data = DataSet::open(arguments.list("input"));
  if (!data)
    return data.status();
  BindOptions options;
  options.normalization = normalizationOf(arguments);
  options.mayBeEmpty = takesAnyRows(function);
  for (const NamedArray &column : data->columns()) {
    if (std::none_of(
            function.inputs.begin(), function.inputs.end(),
            [&](const ValueInfo &input) { return input.name == column.name; }))
      return Status::invalidInput("function '" + function.name +
                                  "' has no input '" + column.name + "'");
    options.columns[column.name] = column.name;
  }
  for (const ValueInfo &input : function.inputs)
    if (!data->column(input.name))
      return Status::invalidInput("function '" + function.name + "': input '" +
                                  input.name + "' (" + input.type.str() +
                                  ") is missing; give --input " + input.name +
                                  "=FILE");
  for (const ValueInfo &input : function.inputs)
    BESSEMER_RETURN_IF_ERROR(
        checkScale(arguments, *data->column(input.name), input, options));
  return BoundData::bind(*data, function.inputs, options);
}

Expected<int> run(const Arguments &arguments) {
  auto program = loadProgram(arguments.positional);
  if (!program)
    return program.status();
  Expected<const FunctionInfo *> found =
      findFunction(**program, arguments.text("function", "predict"));
  if (!found)
    return found.status();
  const FunctionInfo &function = **found;
  if (arguments.has("output-dir"))
    BESSEMER_RETURN_IF_ERROR(checkFileNames(function));
  auto data = bindInputs(arguments, function);
  if (!data)
    return data.status();
  BESSEMER_RETURN_IF_ERROR(checkRows(function, **data));
  auto session = createSession(arguments, *program);
  if (!session)
    return session.status();
  if (std::optional<std::string> directory = arguments.text("checkpoint")) {
    auto loaded = loadCheckpoint(
        *directory, **session,
        function.name == "train_step" ? Restore::All : Restore::Weights);
    if (!loaded)
      return loaded.status();
  }
  BatchOptions batches;
  batches.mode = BatchOptions::Mode::Evaluate;
  auto loader = BatchLoader::create(*data, batches);
  if (!loader)
    return loader.status();
  StepBlock block;
  const auto step = static_cast<uint64_t>(arguments.integer("step", 0));
  block.seed = static_cast<uint64_t>(arguments.integer("seed", 0));
  double rate = 1e-3;
  if (std::optional<std::string_view> compiled = (*program)->setting("lr"))
    rate = parseNumber(std::string(*compiled)).value_or(rate);
  block.learningRate =
      static_cast<float>(arguments.number("lr").value_or(rate));

  bool split = (*data)->rows() != (*data)->batch();
  std::vector<Collected> results;
  for (const ValueInfo &output : function.outputs)
    results.push_back({output, {}, 0});
  for (uint64_t index = 0;; ++index) {
    Expected<const Batch *> batch = (*loader)->next();
    if (!batch)
      return batch.status();
    if (!*batch)
      break;
    block.step = stepOfBatch(step, index);
    block.validRows = (*batch)->validRows;
    BESSEMER_RETURN_IF_ERROR(
        (*session)->run(function.name, (*batch)->inputs, block));
    BESSEMER_RETURN_IF_ERROR(
        collect(**session, function, (*batch)->validRows, split, results));
  }
  for (Collected &result : results)
    if (split)
      result.info.type.shape[0] = result.rows;
  if (std::optional<std::string> directory = arguments.text("output-dir"))
    BESSEMER_RETURN_IF_ERROR(writeResults(*directory, results));
  printResults(results);
  return 0;
}

} // namespace

const Subcommand &runCommand() {
  static const Subcommand command = {
      "run",
      "Call a function once: files in, files out.",
      "  bessemer run run/model.bsm --checkpoint run --input x=images.npy "
      "--output-dir out\n"
      "  bessemer run mlp.bsm --function train_step --input x=x.npy "
      "labels=y.npy --lr 0.01\n"
      "predict takes any number of rows; other functions a whole batch.\n",
      "MODEL",
      "the .bsm file",
      {{"Call", flags},
       {"Numbers", normalizationFlags()},
       {"Device", deviceFlags()}},
      run};
  return command;
}

} // namespace bessemer::tool
