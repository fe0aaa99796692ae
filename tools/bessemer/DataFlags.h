// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags about data, devices and checkpoints that several subcommands share.
#pragma once

#include "Flags.h"

#include "bessemer/runtime/Data.h"
#include "bessemer/runtime/Session.h"

namespace bessemer::tool {

/// How columns become inputs: window, map, scale, mean, std.
std::span<const Flag> columnFlags();
/// Of these scale, mean and std, and what was given for them.
std::span<const Flag> normalizationFlags();
runtime::Normalization normalizationOf(const Arguments &arguments);
/// Device and threads.
std::span<const Flag> deviceFlags();

/// Opens the files of --data or --eval-data and binds them to a function. Says
/// on stdout what goes where unless `quiet`.
Expected<std::shared_ptr<const runtime::BoundData>>
bindData(const Arguments &arguments, const char *flag,
         const runtime::Program &program, const char *function, bool quiet);

/// Loads a .bsm; an .onnx is an error that says to compile it.
Expected<std::shared_ptr<const runtime::Program>>
loadProgram(const std::string &path);

Expected<std::unique_ptr<runtime::Session>>
createSession(const Arguments &arguments,
              std::shared_ptr<const runtime::Program> program);

/// The function, or an error that lists those there are.
Expected<const runtime::FunctionInfo *>
findFunction(const runtime::Program &program, const std::string &name);

} // namespace bessemer::tool
