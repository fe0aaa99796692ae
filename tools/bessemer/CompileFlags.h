// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags that are fixed when a model is compiled.
#pragma once

#include "Json.h"
#include "Subcommand.h"

#include "bessemer/runtime/Program.h"

namespace bessemer::tool {

/// What is trained and how; also flags of `train`.
std::span<const Flag> trainingFlags();
/// Shapes and code.
std::span<const Flag> codeFlags();
/// For looking into the compiler.
std::span<const Flag> debugFlags();
/// Flags of the design that this version does not support yet.
std::span<const Flag> laterFlags();

/// "weight-decay" -> "weight_decay": keys of options and settings.
std::string underscored(std::string_view name);
/// The value of a flag that was given.
Json jsonOf(const Flag &flag, const Arguments &arguments);

/// Refuses what this version cannot do, by name.
Status checkSupported(const Arguments &arguments);

/// Refuses adamw's constants where nobody has asked for adamw.
Status checkOptimizer(const Arguments &arguments);

/// The options of bsc_compile for a model (include/bessemer/Pipelines/
/// CompileOptions.h describes them).
Json compileOptions(const Arguments &arguments, const std::string &model);

/// A compiled program keeps its settings: a flag that asks for another value is
/// an error that names setting, compiled value and given value.
Status checkCompiledSettings(const Arguments &arguments,
                             const runtime::Program &program);

} // namespace bessemer::tool
