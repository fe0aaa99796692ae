// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npz: a zip archive of .npy files, got through the central
// directory at its end; zip64 included.
#include "data/Formats.h"

#include <cstring>
#include <zlib.h>

namespace bessemer::runtime::data {
namespace {

constexpr uint32_t endSignature = 0x06054b50, end64Signature = 0x06064b50,
                   locator64Signature = 0x07064b50, entrySignature = 0x02014b50,
                   localSignature = 0x04034b50;
constexpr size_t endSize = 22, locator64Size = 20, end64Size = 56,
                 entrySize = 46, localSize = 30;

/// Little-endian numbers at offsets that the caller has checked.
template <typename T> T read(Bytes bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool holds(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

struct Member {
  std::string name;
  uint16_t flags, method;
  uint32_t crc;
  uint64_t compressed, size, header;
};

class Archive {
public:
  Archive(const std::string &name, Bytes bytes) : name(name), bytes(bytes) {}

  Expected<std::vector<Member>> members() {
    std::optional<size_t> end = findEnd();
    if (!end)
      return damaged("the zip directory is missing; is the file truncated?");
    uint64_t count = read<uint16_t>(bytes, *end + 10);
    uint64_t offset = read<uint32_t>(bytes, *end + 16);
    if (*end >= locator64Size &&
        read<uint32_t>(bytes, *end - locator64Size) == locator64Signature) {
      uint64_t at = read<uint64_t>(bytes, *end - locator64Size + 8);
      if (!holds(bytes, at, end64Size) ||
          read<uint32_t>(bytes, at) != end64Signature)
        return damaged("damaged zip64 directory");
      count = read<uint64_t>(bytes, at + 32);
      offset = read<uint64_t>(bytes, at + 48);
    }
    std::vector<Member> members;
    for (uint64_t i = 0; i < count; ++i) {
      if (!holds(bytes, offset, entrySize) ||
          read<uint32_t>(bytes, offset) != entrySignature)
        return damaged("damaged zip directory");
      Expected<Member> member = parseEntry(offset);
      if (!member)
        return member.status();
      members.push_back(*std::move(member));
    }
    return members;
  }

  /// The member's bytes, checked against its CRC.
  Expected<std::pair<Bytes, Owner>> contents(const Member &member, Owner file) {
    std::string path = name + ":" + member.name;
    if (member.flags & 1)
      return Status::invalidInput(path + ": encrypted members are not "
                                         "supported");
    if (member.method != 0 && member.method != 8)
      return Status::invalidInput(path +
                                  ": expected a stored or deflated "
                                  "member, got zip method " +
                                  std::to_string(member.method));
    if (!holds(bytes, member.header, localSize) ||
        read<uint32_t>(bytes, member.header) != localSignature)
      return Status::invalidInput(path + ": damaged zip header");
    // Lengths here may differ from the directory's: alignment goes into extra.
    uint64_t start = member.header + localSize +
                     read<uint16_t>(bytes, member.header + 26) +
                     read<uint16_t>(bytes, member.header + 28);
    if (!holds(bytes, start, member.compressed))
      return Status::invalidInput(path + ": data lies beyond the end of the "
                                         "file");
    Bytes stored = bytes.subspan(start, member.compressed);
    std::pair<Bytes, Owner> result{stored, std::move(file)};
    if (member.method == 8) {
      Expected<Buffer> buffer = inflateRaw(path, stored, member.size);
      if (!buffer)
        return buffer.status();
      result = {buffer->bytes(), buffer->data};
    } else if (member.compressed != member.size) {
      return Status::invalidInput(path + ": damaged zip header");
    }
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef *>(result.first.data()),
                        result.first.size());
    if (crc != member.crc)
      return Status::invalidInput(path + ": checksum differs; the file is "
                                         "damaged");
    return result;
  }

private:
  Status damaged(const char *what) const {
    return Status::invalidInput(name + ": " + what);
  }

  /// The end record is last, before a comment of at most 65535 bytes.
  std::optional<size_t> findEnd() const {
    if (bytes.size() < endSize)
      return std::nullopt;
    size_t last = bytes.size() - endSize;
    for (size_t back = 0; back <= last && back <= 0xffff; ++back)
      if (read<uint32_t>(bytes, last - back) == endSignature &&
          read<uint16_t>(bytes, last - back + 20) == back)
        return last - back;
    return std::nullopt;
  }

  /// Reads one directory entry and moves `offset` behind it.
  Expected<Member> parseEntry(uint64_t &offset) const {
    Member member;
    member.flags = read<uint16_t>(bytes, offset + 8);
    member.method = read<uint16_t>(bytes, offset + 10);
    member.crc = read<uint32_t>(bytes, offset + 16);
    member.compressed = read<uint32_t>(bytes, offset + 20);
    member.size = read<uint32_t>(bytes, offset + 24);
    member.header = read<uint32_t>(bytes, offset + 42);
    uint16_t nameSize = read<uint16_t>(bytes, offset + 28);
    uint16_t extraSize = read<uint16_t>(bytes, offset + 30);
    uint16_t commentSize = read<uint16_t>(bytes, offset + 32);
    uint64_t next = offset + entrySize + nameSize + extraSize + commentSize;
    if (next > bytes.size())
      return damaged("damaged zip directory");
    member.name.assign(reinterpret_cast<const char *>(bytes.data()) + offset +
                           entrySize,
                       nameSize);
    readZip64(bytes.subspan(offset + entrySize + nameSize, extraSize), member);
    offset = next;
    return member;
  }

  /// Sizes and offsets that did not fit 32 bits, in this order.
  static void readZip64(Bytes extra, Member &member) {
    while (extra.size() >= 4) {
      size_t size = read<uint16_t>(extra, 2);
      if (size > extra.size() - 4)
        return;
      if (read<uint16_t>(extra, 0) == 1) {
        size_t at = 4;
        for (uint64_t *value :
             {&member.size, &member.compressed, &member.header})
          if (*value == 0xffffffff && at + 8 <= 4 + size) {
            *value = read<uint64_t>(extra, at);
            at += 8;
          }
      }
      extra = extra.subspan(4 + size);
    }
  }

  const std::string &name;
  Bytes bytes;
};

} // namespace

Expected<std::vector<NamedArray>> readNpz(const std::string &name, Bytes bytes,
                                          Owner owner) {
  Archive archive(name, bytes);
  Expected<std::vector<Member>> members = archive.members();
  if (!members)
    return members.status();
  std::vector<NamedArray> arrays;
  for (const Member &member : *members) {
    if (!member.name.ends_with(".npy"))
      return Status::invalidInput(name + ": expected .npy members only, got '" +
                                  member.name + "'");
    auto contents = archive.contents(member, owner);
    if (!contents)
      return contents.status();
    Expected<Array> array =
        readNpy(name + ":" + member.name, contents->first, contents->second);
    if (!array)
      return array.status();
    arrays.push_back(
        {member.name.substr(0, member.name.size() - 4), *std::move(array)});
  }
  if (arrays.empty())
    return Status::invalidInput(name + ": expected arrays, got none");
  return arrays;
}

} // namespace bessemer::runtime::data
