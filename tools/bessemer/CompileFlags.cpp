// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompileFlags.h"

#include "bessemer/Pipelines/ByteCount.h"

#include <algorithm>
#include <cfloat>
#include <filesystem>

namespace bessemer::tool {
namespace {

constexpr Flag training[] = {
    {"loss", FlagKind::Text, "KIND",
     "cross_entropy, nll, mse, bce, bce_with_logits, or output[:NAME] when the "
     "model computes its loss"},
    {"output-name", FlagKind::Text, "NAME",
     "the output that the loss reads (default: the first)"},
    {"optimizer", FlagKind::Text, "KIND", "the update rule (default: sgd)",
     "sgd|adamw"},
    {"lr", FlagKind::Number, "X", "learning rate (default 0.001)", nullptr, 0,
     FLT_MAX},
    {"momentum", FlagKind::Number, "X", "sgd: momentum (0)", nullptr, 0,
     FLT_MAX},
    {"dampening", FlagKind::Number, "X", "sgd: dampening (0)", nullptr, 0,
     FLT_MAX},
    {"nesterov", FlagKind::Switch, "", "sgd: Nesterov momentum"},
    {"betas", FlagKind::Numbers, "B1,B2", "adamw: decay rates (0.9,0.999)",
     nullptr, 0},
    {"eps", FlagKind::Number, "X", "adamw: epsilon (1e-8)", nullptr, 0,
     FLT_MAX},
    {"weight-decay", FlagKind::Number, "X", "weight decay (sgd 0, adamw 0.01)",
     nullptr, 0, FLT_MAX},
    {"lazy-embeddings", FlagKind::Switch, "",
     "adamw: update only the table entries that a step looks up (another "
     "optimizer, as torch.optim.SparseAdam; not with --accumulate)"},
    {"clip-norm", FlagKind::Number, "X",
     "scale gradients down to this norm (default: never)"},
    {"accumulate", FlagKind::Integer, "N",
     "compute a batch in N parts, one after the other (1)", nullptr, 1},
    {"train", FlagKind::List, "GLOB,...", "initializers to train"},
    {"freeze", FlagKind::List, "GLOB,...", "initializers to keep as they are"},
    {"class-axis", FlagKind::Integer, "N",
     "dimension of the classes (default: 1, for rank 3 the last)"},
    {"ignore-index", FlagKind::Integer, "N",
     "label whose rows do not count (-100)"},
    {"label-smoothing", FlagKind::Number, "X", "cross_entropy: smoothing (0)",
     nullptr, 0},
    {"batch-norm-variance", FlagKind::Text, "KIND",
     "formula of the running variance (default: by the model's producer)",
     "biased|unbiased"},
};

constexpr Flag code[] = {
    {"batch", FlagKind::Integer, "N", "size of the batch dimension", nullptr,
     1},
    {"dim", FlagKind::Pairs, "NAME=N", "sizes of symbolic dimensions"},
    {"memory-limit", FlagKind::Bytes, "BYTES",
     "memory that a session may take, scratch of kernels apart: bytes, or with "
     "a unit of kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of "
     "1024), e.g. 500MB; values are computed again where they cannot be kept; "
     "refused when that is not enough"},
    {"target", FlagKind::List, "T,...",
     "machines to make code for: cpu, cpu:x86-64-v3, cpu:x86-64-v4 (cpu)"},
    {"precision", FlagKind::Text, "P", "element type of the arithmetic (f32)",
     "f32|bf16|fp16|fp8"},
    {"strict", FlagKind::Switch, "",
     "no Winograd, no flush-to-zero, tighter approximations"},
};

constexpr Flag debug[] = {
    {"dump-dir", FlagKind::Text, "DIR", "write the program after every phase"},
    {"verify-numerics", FlagKind::Switch, "",
     "evaluate the program before and after every pass; names the first pass "
     "that changes a result"},
    {"pass-plugin", FlagKind::List, "FILE.so,...",
     "plugins with passes and ops (docs/writing-a-pass.md)"},
    {"inject-pass", FlagKind::Text, "NAME", "run this pass before fusion"},
};

constexpr Flag later[] = {
    {"devices", FlagKind::Integer, "N", "several devices", nullptr, 1},
    {"mesh", FlagKind::Pairs, "AXIS=N", "a device mesh"},
};

/// The keys of the optimizer's object.
constexpr std::string_view optimizerKeys[] = {
    "lr",    "momentum", "dampening",    "nesterov",
    "betas", "eps",      "weight-decay", "lazy-embeddings"};

/// What errors call a flag. A recipe's path may hold bytes that are no UTF-8,
/// which JSON does not take: they are replaced, as this is only shown.
Json originOf(const char *flag, const Arguments &arguments) {
  return Json::parse(printable(arguments.origin(flag)));
}

} // namespace

std::string underscored(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

Json jsonOf(const Flag &flag, const Arguments &arguments) {
  switch (flag.kind) {
  case FlagKind::Switch:
    return true;
  case FlagKind::Text:
    return *arguments.text(flag.name);
  case FlagKind::Number:
    return *arguments.number(flag.name);
  case FlagKind::Integer:
    return *arguments.integer(flag.name);
  case FlagKind::Bytes:
    return *parseByteCount(*arguments.text(flag.name));
  case FlagKind::List:
    return arguments.list(flag.name);
  case FlagKind::Numbers:
    return arguments.numbers(flag.name);
  case FlagKind::Pairs: {
    Json object = Json::object();
    for (const auto &[name, value] : arguments.pairs(flag.name)) {
      std::optional<int64_t> size = parseInteger(value);
      object[name] = size ? Json(*size) : Json(value);
    }
    return object;
  }
  }
  return nullptr;
}

std::span<const Flag> trainingFlags() { return training; }
std::span<const Flag> codeFlags() { return code; }
std::span<const Flag> debugFlags() { return debug; }
std::span<const Flag> laterFlags() { return later; }

Status checkSupported(const Arguments &arguments) {
  auto refuse = [&](const char *flag, const std::string &why) {
    return Status::usage(arguments.origin(flag) + ": " + why);
  };
  if (arguments.text("precision", "f32") != "f32")
    return refuse("precision", "this version computes in f32 only, got '" +
                                   *arguments.text("precision") + "'");
  for (const std::string &target : arguments.list("target"))
    if (target != "cpu" && !target.starts_with("cpu:"))
      return refuse("target", "this version makes code for the CPU only (cpu, "
                              "cpu:x86-64-v3, cpu:x86-64-v4), got '" +
                                  target + "'");
  if (arguments.integer("devices", 1) > 1 || arguments.has("mesh"))
    return refuse(arguments.has("mesh") ? "mesh" : "devices",
                  "this version trains on one device");
  if (std::vector<std::string> betas = arguments.list("betas");
      !betas.empty() && betas.size() != 2) {
    std::string all;
    for (const std::string &beta : betas)
      all += (all.empty() ? "" : ",") + beta;
    return refuse("betas", "expected two numbers, got '" + all + "'");
  }
  return {};
}

Status checkOptimizer(const Arguments &arguments) {
  for (const char *flag : {"betas", "eps", "lazy-embeddings"})
    if (arguments.has(flag) && !arguments.has("optimizer"))
      return Status::usage(arguments.origin(flag) +
                           ": is of adamw, and without --optimizer adamw the "
                           "optimizer is sgd");
  return {};
}

Json compileOptions(const Arguments &arguments, const std::string &model) {
  Json options = {{"model", model},
                  {"reproducer", std::filesystem::path(model).stem().string() +
                                     ".reproducer.mlir"}};
  Json optimizer = Json::object(), origins = Json::object();
  if (arguments.has("optimizer")) {
    optimizer["kind"] = *arguments.text("optimizer");
    origins["optimizer.kind"] = originOf("optimizer", arguments);
  }
  for (std::span<const Flag> flags :
       {trainingFlags(), codeFlags(), debugFlags()})
    for (const Flag &flag : flags) {
      std::string_view name = flag.name;
      if (!arguments.has(flag.name) || name == "optimizer")
        continue;
      bool ofOptimizer =
          std::find(std::begin(optimizerKeys), std::end(optimizerKeys), name) !=
          std::end(optimizerKeys);
      std::string key = name == "dim"           ? "dims"
                        : name == "target"      ? "targets"
                        : name == "pass-plugin" ? "pass_plugins"
                                                : underscored(name);
      (ofOptimizer ? optimizer : options)[key] = jsonOf(flag, arguments);
      origins[(ofOptimizer ? "optimizer." : "") + key] =
          originOf(flag.name, arguments);
    }
  if (!optimizer.empty()) {
    if (!optimizer.contains("kind"))
      optimizer["kind"] = "sgd";
    options["optimizer"] = std::move(optimizer);
  }
  options["@origins"] = std::move(origins);
  return options;
}

} // namespace bessemer::tool
