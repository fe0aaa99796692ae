// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for arrays, decompression and byte order.
#include "data/Formats.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <zlib.h>

namespace bessemer::runtime::data {
namespace {

/// zlib counts in 32 bits; feed it pieces.
constexpr size_t maxPiece = size_t(1) << 30;

/// An inflate stream that is freed on every way out.
struct Inflater {
  z_stream stream = {};
  bool ok;
  explicit Inflater(int windowBits) {
    ok = inflateInit2(&stream, windowBits) == Z_OK;
  }
  ~Inflater() {
    if (ok)
      inflateEnd(&stream);
  }
  void give(Bytes &bytes) {
    if (stream.avail_in != 0 || bytes.empty())
      return;
    size_t piece = std::min(bytes.size(), maxPiece);
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<std::byte *>(bytes.data()));
    stream.avail_in = static_cast<uInt>(piece);
    bytes = bytes.subspan(piece);
  }
};

Status damaged(const std::string &name, const z_stream &stream) {
  return Status::invalidInput(
      name + ": compressed data is damaged" +
      (stream.msg ? std::string(" (") + stream.msg + ")" : std::string()));
}

} // namespace

Buffer allocate(size_t size) {
  auto *memory = static_cast<std::byte *>(
      ::operator new[](std::max<size_t>(size, 1), std::align_val_t(64)));
  return {
      std::shared_ptr<std::byte[]>(
          memory,
          [](std::byte *p) { ::operator delete[](p, std::align_val_t(64)); }),
      size};
}

Expected<Buffer> gunzip(const std::string &name, Bytes bytes) {
  Inflater inflater(15 + 16);
  if (!inflater.ok)
    return Status::internal(name + ": out of memory");
  z_stream &stream = inflater.stream;
  // The size in the trailer counts modulo 4 GiB and could be a lie, so the
  // buffer grows.
  std::vector<std::byte> out(std::max<size_t>(bytes.size() * 2, 4096));
  size_t used = 0;
  while (true) {
    inflater.give(bytes);
    if (used == out.size())
      out.resize(out.size() * 2);
    size_t room = std::min(out.size() - used, maxPiece);
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    int result = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0 && bytes.empty())
        break;
      // A gzip file may be several members in a row.
      if (inflateReset(&stream) != Z_OK)
        return damaged(name, stream);
    } else if (result == Z_BUF_ERROR && stream.avail_in == 0 && bytes.empty()) {
      return Status::invalidInput(name + ": compressed data ends early");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return damaged(name, stream);
    }
  }
  Buffer buffer = allocate(used);
  std::memcpy(buffer.data.get(), out.data(), used);
  return buffer;
}

Expected<Buffer> inflateRaw(const std::string &name, Bytes bytes, size_t size) {
  // Deflate cannot do better than 1032 to 1; a larger size is damage, found
  // before memory is asked for.
  if (size / 1032 > bytes.size() + 1)
    return Status::invalidInput(name + ": size in the header is damaged");
  Inflater inflater(-15);
  if (!inflater.ok)
    return Status::internal(name + ": out of memory");
  z_stream &stream = inflater.stream;
  Buffer buffer = allocate(size);
  size_t used = 0;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    inflater.give(bytes);
    size_t room = std::min(size - used, maxPiece);
    // One spare byte tells a stream that is too long from one that just fits.
    std::byte spare;
    bool full = room == 0;
    stream.next_out =
        reinterpret_cast<Bytef *>(full ? &spare : buffer.data.get() + used);
    stream.avail_out = full ? 1 : static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    if (full && stream.avail_out == 0)
      return Status::invalidInput(name + ": longer than its header says");
    used += full ? 0 : room - stream.avail_out;
    if (result == Z_BUF_ERROR)
      return Status::invalidInput(name + ": compressed data ends early");
    if (result != Z_OK && result != Z_STREAM_END)
      return damaged(name, stream);
  }
  if (used != size)
    return Status::invalidInput(name + ": shorter than its header says");
  return buffer;
}

std::optional<size_t> byteSize(const TensorType &type) {
  size_t size = elementSize(type.element);
  for (int64_t extent : type.shape)
    if (extent < 0 ||
        __builtin_mul_overflow(size, static_cast<size_t>(extent), &size))
      return std::nullopt;
  if (size > static_cast<size_t>(std::numeric_limits<int64_t>::max()))
    return std::nullopt;
  return size;
}

Array makeArray(TensorType type, Bytes bytes, Owner owner, bool bigEndian) {
  size_t element = elementSize(type.element), size = type.byteSize();
  bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % element == 0;
  if (aligned && !(bigEndian && element > 1))
    return {std::move(type), std::move(owner), bytes.data()};
  Buffer copy = allocate(size);
  std::byte *to = copy.data.get();
  if (bigEndian && element > 1)
    for (size_t at = 0; at < size; at += element)
      std::reverse_copy(bytes.data() + at, bytes.data() + at + element,
                        to + at);
  else
    std::memcpy(to, bytes.data(), size);
  return {std::move(type), copy.data, to};
}

} // namespace bessemer::runtime::data
