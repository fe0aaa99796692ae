// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a loaded program holds; the session and the devices read it.
#pragma once

#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Program.h"
#include "core/Bytes.h"
#include "device/cpu/CodeMemory.h"

#include <atomic>
#include <mutex>

namespace bessemer::runtime {

struct Program::Impl {
  std::string name;
  /// One of the two owns the bytes.
  std::unique_ptr<MappedFile> file;
  Buffer memory;
  std::span<const std::byte> bytes;
  const format::Program *table = nullptr;

  std::string producer;
  std::vector<FunctionInfo> functions;
  std::vector<StateInfo> states;
  std::vector<std::string> stateNames;
  std::vector<Setting> settings;
  std::vector<std::string> targets;

  /// The bytes of a blob, its hash checked at the first use.
  Expected<std::span<const std::byte>> blob(int64_t index) const;
  /// The machine code of a target (an index into `targets`), mapped once for
  /// all sessions.
  Expected<const std::byte *> code(size_t target) const;
  /// The commands of a function on a target.
  const format::ExecProgram *execProgram(std::string_view function,
                                         std::string_view target) const;

  mutable std::unique_ptr<std::atomic<bool>[]> blobChecked;
  mutable std::mutex codeMutex;
  mutable std::vector<std::unique_ptr<CodeMemory>> codeMemory;
};

} // namespace bessemer::runtime
