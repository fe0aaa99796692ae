// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks an artifact before anything trusts it: after these, every index,
// offset and slice that the executor follows is in range.
#pragma once

#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Status.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bessemer::runtime {

/// No tensor, arena or file is larger; sums of two such numbers do not wrap.
inline constexpr uint64_t mostBytes = uint64_t(1) << 47;

/// Vectors may be left out of a table when they are empty.
template <typename V> size_t sizeOf(const V *vector) {
  return vector ? vector->size() : 0;
}

/// Prefix, table hash, FlatBuffers structure, version, then every part of the
/// table; gives the table.
Expected<const format::Program *>
verifyArtifact(const std::string &name, std::span<const std::byte> bytes);

/// The elements of every vector lie as their type wants; the table's structure
/// must be verified.
bool vectorsAligned(const format::Program &program);

/// The bytes of a dense tensor, or nothing when the type is not valid.
bool tensorBytes(const format::TensorType *type, uint64_t &bytes);

/// The commands and arenas of one function on one target.
Status verifyCommands(const std::string &name, const format::Program &program,
                      const format::ExecProgram &exec,
                      const format::Function &function);

/// Says what is wrong with a convolution's description, if anything: how its
/// shapes must be, and what they are.
struct Mismatch {
  std::string what, expected, got;
};
std::optional<Mismatch> checkConvolution(const format::Convolution &conv);

/// The bytes of the operands of a valid convolution, in order.
std::vector<uint64_t> convolutionOperandBytes(const format::Convolution &conv);

/// "name: where: expected ..., got ...".
Status damaged(const std::string &name, const std::string &where,
               const std::string &expected, const std::string &got);

} // namespace bessemer::runtime
