// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/CpuTarget.h"

namespace bessemer::runtime {

namespace {
struct Level {
  std::string_view target;
  /// Asks CPUID, and whether the system saves the registers.
  bool (*supported)();
};

/// The best level first.
constexpr Level levels[] = {
    {"x86-64-v4", [] { return __builtin_cpu_supports("x86-64-v4") != 0; }},
    {"x86-64-v3", [] { return __builtin_cpu_supports("x86-64-v3") != 0; }},
};

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}
} // namespace

Expected<size_t> chooseCpuTarget(std::string_view device,
                                 std::span<const std::string> targets,
                                 const std::string &programName) {
  constexpr std::string_view prefix = "cpu:";
  if (device != "cpu" &&
      (!device.starts_with(prefix) || device.size() == prefix.size()))
    return Status::usage("device: expected cpu or cpu:TARGET, got " +
                         std::string(device));
  __builtin_cpu_init();
  std::string_view wanted =
      device == "cpu" ? std::string_view() : device.substr(prefix.size());
  for (const Level &level : levels) {
    if (!wanted.empty() && level.target != wanted)
      continue;
    if (!level.supported()) {
      if (!wanted.empty())
        return Status::usage("device " + std::string(device) +
                             ": this machine cannot run " +
                             std::string(wanted));
      continue;
    }
    for (size_t i = 0; i < targets.size(); ++i)
      if (targets[i] == level.target)
        return i;
    if (!wanted.empty())
      return Status::usage(programName + ": expected code for " +
                           std::string(wanted) + ", got " + join(targets));
  }
  if (!wanted.empty())
    return Status::usage("device: expected cpu, cpu:x86-64-v4 or "
                         "cpu:x86-64-v3, got " +
                         std::string(device));
  return Status::usage(programName + ": expected code that this machine can " +
                       "run, got " + join(targets));
}

} // namespace bessemer::runtime
