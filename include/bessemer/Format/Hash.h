// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// XXH64 (the public xxHash algorithm): the hash of the artifact's table and
// blobs. It finds damage; it is no defence against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bessemer::format {

namespace hash_detail {
inline constexpr uint64_t prime1 = 0x9E3779B185EBCA87ULL;
inline constexpr uint64_t prime2 = 0xC2B2AE3D27D4EB4FULL;
inline constexpr uint64_t prime3 = 0x165667B19E3779F9ULL;
inline constexpr uint64_t prime4 = 0x85EBCA77C2B2AE63ULL;
inline constexpr uint64_t prime5 = 0x27D4EB2F165667C5ULL;

inline uint64_t rotateLeft(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}
template <typename T> T read(const unsigned char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
inline uint64_t mixLane(uint64_t lane, uint64_t input) {
  return rotateLeft(lane + input * prime2, 31) * prime1;
}
inline uint64_t mergeLane(uint64_t hash, uint64_t lane) {
  return (hash ^ mixLane(0, lane)) * prime1 + prime4;
}
} // namespace hash_detail

/// XXH64 of `size` bytes.
inline uint64_t hash64(const void *data, size_t size, uint64_t seed = 0) {
  using namespace hash_detail;
  const auto *bytes = static_cast<const unsigned char *>(data);
  size_t left = size;
  uint64_t hash;
  if (left >= 32) {
    uint64_t a = seed + prime1 + prime2, b = seed + prime2, c = seed,
             d = seed - prime1;
    for (; left >= 32; bytes += 32, left -= 32) {
      a = mixLane(a, read<uint64_t>(bytes));
      b = mixLane(b, read<uint64_t>(bytes + 8));
      c = mixLane(c, read<uint64_t>(bytes + 16));
      d = mixLane(d, read<uint64_t>(bytes + 24));
    }
    hash = rotateLeft(a, 1) + rotateLeft(b, 7) + rotateLeft(c, 12) +
           rotateLeft(d, 18);
    hash = mergeLane(hash, a);
    hash = mergeLane(hash, b);
    hash = mergeLane(hash, c);
    hash = mergeLane(hash, d);
  } else {
    hash = seed + prime5;
  }
  hash += size;
  for (; left >= 8; bytes += 8, left -= 8)
    hash = rotateLeft(hash ^ mixLane(0, read<uint64_t>(bytes)), 27) * prime1 +
           prime4;
  if (left >= 4) {
    hash =
        rotateLeft(hash ^ read<uint32_t>(bytes) * prime1, 23) * prime2 + prime3;
    bytes += 4, left -= 4;
  }
  for (; left; ++bytes, --left)
    hash = rotateLeft(hash ^ *bytes * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}

} // namespace bessemer::format
