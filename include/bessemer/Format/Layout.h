// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where things lie in an artifact (.bsm): the prefix, the table, the blobs.
// The compiler's Emit and the runtime's tests write with it, the loader reads
// by it.
#pragma once

#include "bessemer/Format/Hash.h"
#include "bessemer/Format/bessemer_generated.h"

#include <span>
#include <string>
#include <string_view>

namespace bessemer::format {

/// A loader takes the same major version and a minor no newer than its own.
inline constexpr uint32_t versionMajor = 1;
inline constexpr uint32_t versionMinor = 3;
inline constexpr char artifactMagic[8] = {'B', 'E', 'S', 'S',
                                          'E', 'M', 'E', 'R'};
/// Of blobs in the file, states in their arena, and arenas in memory.
inline constexpr uint64_t artifactAlignment = 64;

/// The first bytes of the file. `tableHash` is hash64 of the table, which
/// follows at once.
struct ArtifactPrefix {
  char magic[8];
  uint64_t tableBytes;
  uint64_t tableHash;
  uint64_t reserved;
};
static_assert(sizeof(ArtifactPrefix) == 32);

inline constexpr uint64_t alignArtifact(uint64_t offset) {
  return (offset + artifactAlignment - 1) & ~(artifactAlignment - 1);
}

/// Sets the version and `program.blobs` for these blobs and returns what
/// precedes the first of them: prefix, table and padding. Each blob then
/// follows at `program.blobs[i].offset()`, zero bytes between.
inline std::string packArtifactHead(ProgramT &program,
                                    std::span<const std::string_view> blobs) {
  program.major = versionMajor;
  program.minor = versionMinor;
  program.blobs.assign(blobs.size(), Blob(0, 0, 0));
  flatbuffers::FlatBufferBuilder builder;
  // The table's size does not depend on the offsets in it: pack once to know
  // where the first blob starts, and again with the offsets.
  FinishProgramBuffer(builder, Program::Pack(builder, &program));
  uint64_t offset = alignArtifact(sizeof(ArtifactPrefix) + builder.GetSize());
  for (size_t i = 0; i < blobs.size(); ++i) {
    program.blobs[i] =
        Blob(offset, blobs[i].size(), hash64(blobs[i].data(), blobs[i].size()));
    offset = alignArtifact(offset + blobs[i].size());
  }
  builder.Clear();
  FinishProgramBuffer(builder, Program::Pack(builder, &program));

  ArtifactPrefix prefix{};
  std::memcpy(prefix.magic, artifactMagic, sizeof(artifactMagic));
  prefix.tableBytes = builder.GetSize();
  prefix.tableHash = hash64(builder.GetBufferPointer(), builder.GetSize());
  std::string head(reinterpret_cast<const char *>(&prefix), sizeof(prefix));
  head.append(reinterpret_cast<const char *>(builder.GetBufferPointer()),
              builder.GetSize());
  head.resize(alignArtifact(head.size()));
  return head;
}

/// The whole artifact in memory.
inline std::string packArtifact(ProgramT &program,
                                std::span<const std::string_view> blobs) {
  std::string file = packArtifactHead(program, blobs);
  for (size_t i = 0; i < blobs.size(); ++i) {
    file.resize(program.blobs[i].offset());
    file += blobs[i];
  }
  return file;
}

} // namespace bessemer::format
