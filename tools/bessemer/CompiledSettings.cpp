// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags against the settings of a compiled program.
#include "CompileFlags.h"

#include "bessemer/Pipelines/ByteCount.h"

namespace bessemer::tool {
namespace {

/// Numbers compare by value, the rest as text.
bool sameSetting(const std::string &compiled, const Json &given) {
  if (given.is_number()) {
    std::optional<double> number = parseNumber(compiled);
    return number && *number == given.get<double>();
  }
  if (given.is_string())
    return compiled == given.get<std::string>();
  return Json::parse(compiled, nullptr, false) == given;
}

/// One setting of a program against what a flag asks for.
class SettingCheck {
public:
  SettingCheck(const Arguments &arguments, const runtime::Program &program,
               const char *flag)
      : arguments(arguments), program(program), flag(flag) {}

  Status check(const std::string &key, const Json &given) const {
    std::optional<std::string_view> compiled = program.setting(key);
    if (!compiled) {
      // What is zero is not recorded.
      if (given.is_number() && given == 0)
        return {};
      return Status::invalidInput(arguments.origin(flag) +
                                  ": is fixed when compiling, and " +
                                  program.name() + " was compiled without it");
    }
    if (sameSetting(std::string(*compiled), given))
      return {};
    // Compilers up to format 1.2 recorded a number of bytes as it was written.
    if (key == "memory_limit" && parseByteCount(*compiled) == given)
      return {};
    return differs(key + " " + std::string(*compiled),
                   given.is_string() ? given.get<std::string>()
                                     : printable(given));
  }

  /// A program without running statistics does not record a formula.
  Status checkVariance(const std::string &given) const {
    constexpr const char *key = "batch_norm_variance";
    return program.setting(key) ? check(key, given) : Status();
  }

  /// The batch is dimension 0 of the inputs.
  Status checkBatch(int64_t given) const {
    // With accumulation that is the batch of a training step.
    const bool isSplit = program.setting("accumulate").has_value();
    for (const runtime::FunctionInfo &function : program.functions())
      for (const runtime::ValueInfo &input : function.inputs)
        if ((!isSplit || function.name == "train_step") &&
            !input.type.shape.empty() && given != input.type.shape[0])
          return differs("batch " + std::to_string(input.type.shape[0]),
                         std::to_string(given));
    return {};
  }

  Status checkTarget(const std::string &given) const {
    std::string names;
    for (const std::string &target : program.targets()) {
      if (given == "cpu" || given == "cpu:" + target)
        return {};
      names += (names.empty() ? "" : ", ") + ("cpu:" + target);
    }
    return differs("target " + names, given);
  }

private:
  Status differs(const std::string &compiled, const std::string &given) const {
    return Status::invalidInput(arguments.origin(flag) + ": " + program.name() +
                                " was compiled with " + compiled + ", got " +
                                given + "; compile it again to change it");
  }

  const Arguments &arguments;
  const runtime::Program &program;
  const char *flag;
};

} // namespace

Status checkCompiledSettings(const Arguments &arguments,
                             const runtime::Program &program) {
  for (std::span<const Flag> flags :
       {trainingFlags(), codeFlags(), debugFlags()})
    for (const Flag &flag : flags) {
      std::string_view name = flag.name;
      // The learning rate is chosen when running.
      if (!arguments.has(flag.name) || name == "lr")
        continue;
      // Nor is that a batch is computed at once recorded.
      if (name == "accumulate" && arguments.integer("accumulate", 1) == 1 &&
          !program.setting("accumulate"))
        continue;
      SettingCheck check(arguments, program, flag.name);
      if (name == "batch") {
        BESSEMER_RETURN_IF_ERROR(check.checkBatch(*arguments.integer("batch")));
      } else if (name == "target") {
        for (const std::string &target : arguments.list("target"))
          BESSEMER_RETURN_IF_ERROR(check.checkTarget(target));
      } else if (name == "dim") {
        Json dims = jsonOf(flag, arguments);
        for (const auto &[dim, size] : dims.items())
          // "batch" also serves models that call their batch otherwise.
          if (dim == "batch" && size.is_number_integer() &&
              !program.setting("dim.batch"))
            BESSEMER_RETURN_IF_ERROR(check.checkBatch(size.get<int64_t>()));
          else
            BESSEMER_RETURN_IF_ERROR(check.check("dim." + dim, size));
      } else if (name == "batch-norm-variance") {
        BESSEMER_RETURN_IF_ERROR(
            check.checkVariance(*arguments.text(name.data())));
      } else if (std::string loss = arguments.text("loss", "");
                 name == "loss" && loss.starts_with("output:")) {
        BESSEMER_RETURN_IF_ERROR(check.check("loss", "output"));
        BESSEMER_RETURN_IF_ERROR(check.check("output_name", loss.substr(7)));
      } else {
        BESSEMER_RETURN_IF_ERROR(
            check.check(underscored(name), jsonOf(flag, arguments)));
      }
    }
  return {};
}

} // namespace bessemer::tool
