// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Artifacts: load, verify, prepare, and one run of every function within
// bounds. Machine code is trusted (README, "Trust"), so the bytes behind the
// table all become the instruction `ret`; hashes are made to fit, as they find
// damage and stop no one who wants to fit them.
#include "TemporaryFile.h"
#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Session.h"

#include <cstring>

using namespace bessemer;
using namespace bessemer::runtime;

namespace {
constexpr uint8_t returnInstruction = 0xc3;
/// Larger programs are only loaded, to keep the harness fast.
constexpr uint64_t mostBytes = 64 << 20;

void fitHashes(std::string &file) {
  format::ArtifactPrefix prefix;
  if (file.size() < sizeof(prefix))
    return;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  if (prefix.tableBytes > file.size() - sizeof(prefix) ||
      prefix.tableBytes < 16)
    return;
  auto *table = reinterpret_cast<uint8_t *>(file.data() + sizeof(prefix));
  std::fill(file.begin() + sizeof(prefix) + prefix.tableBytes, file.end(),
            char(returnInstruction));
  // Aligned as the loader aligns it.
  std::vector<uint64_t> copy((prefix.tableBytes + 7) / 8);
  std::memcpy(copy.data(), table, prefix.tableBytes);
  auto *aligned = reinterpret_cast<uint8_t *>(copy.data());
  flatbuffers::Verifier verifier(aligned, prefix.tableBytes, 16, 1 << 16);
  if (format::VerifyProgramBuffer(verifier)) {
    const auto *blobs = format::GetProgram(aligned)->blobs();
    for (size_t i = 0; blobs && i < blobs->size(); ++i) {
      format::Blob blob;
      auto *place = const_cast<uint8_t *>(blobs->Data()) + i * sizeof(blob);
      std::memcpy(&blob, place, sizeof(blob));
      if (blob.offset() > file.size() ||
          blob.bytes() > file.size() - blob.offset())
        continue;
      blob = format::Blob(
          blob.offset(), blob.bytes(),
          format::hash64(file.data() + blob.offset(), blob.bytes()));
      std::memcpy(place, &blob, sizeof(blob));
    }
    std::memcpy(table, aligned, prefix.tableBytes);
  }
  prefix.tableHash = format::hash64(table, prefix.tableBytes);
  std::memcpy(file.data(), &prefix, sizeof(prefix));
}

bool isSmall(const Program &program) {
  uint64_t bytes = 0;
  auto add = [&](uint64_t more) {
    bytes += std::min(more, mostBytes + 1);
    return bytes <= mostBytes;
  };
  const format::Program &table = program.table();
  if (!add(table.state_bytes()))
    return false;
  for (const format::ExecProgram *exec : *table.programs())
    for (size_t i = 0; exec->arenas() && i < exec->arenas()->size(); ++i)
      if (!add(exec->arenas()->Get(i)->bytes()))
        return false;
  for (size_t i = 0; table.kernels() && i < table.kernels()->size(); ++i)
    for (uint64_t scratch : *table.kernels()->Get(i)->scratch())
      if (!add(scratch))
        return false;
  return true;
}

void runAll(std::shared_ptr<const Program> program) {
  auto session = Session::create(program, {"cpu", 1});
  if (!session)
    return;
  for (const FunctionInfo &function : program->functions()) {
    std::vector<std::string> data;
    std::vector<NamedTensor> inputs;
    for (const ValueInfo &input : function.inputs)
      data.emplace_back(input.type.byteSize(), '\0');
    for (size_t i = 0; i < data.size(); ++i)
      inputs.push_back(
          {function.inputs[i].name, {function.inputs[i].type, data[i].data()}});
    if (!(*session)->run(function.name, inputs, {}).ok())
      continue;
    for (const ValueInfo &output : function.outputs)
      if (auto view = (*session)->output(function.name, output.name))
        fuzz::touch(view->data, view->byteSize());
  }
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string file(reinterpret_cast<const char *>(data), size);
  fitHashes(file);
  auto program = Program::fromBytes(std::as_bytes(std::span(file)));
  if (!program || !isSmall(**program))
    return 0;
  (void)(*program)->verifyBlobs();
  runAll(*program);
  return 0;
}
