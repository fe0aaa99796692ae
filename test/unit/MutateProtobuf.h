// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged protobufs for tests of what reads models: the fields of the message
// are removed, doubled, exchanged and given the numbers that break sizes, so
// that most mutants get past the parser.

#ifndef BESSEMER_TEST_UNIT_MUTATEPROTOBUF_H
#define BESSEMER_TEST_UNIT_MUTATEPROTOBUF_H

#include "Random.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bessemer::test {

/// A field of a protobuf message: a number, or bytes that may themselves be
/// fields.
struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t value = 0;
  std::string bytes;
  std::vector<Field> fields;
};

using Fields = std::vector<Field>;

inline bool readVarint(std::string_view &data, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !data.empty(); shift += 7) {
    uint8_t byte = data.front();
    data = data.substr(1);
    value |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

inline void writeVarint(std::string &out, uint64_t value) {
  for (; value > 127; value >>= 7)
    out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

inline std::string writeFields(const Fields &fields) {
  std::string out;
  for (const Field &field : fields) {
    writeVarint(out, uint64_t(field.number) << 3 | field.wire);
    if (field.wire == 0) {
      writeVarint(out, field.value);
      continue;
    }
    std::string bytes =
        field.fields.empty() ? field.bytes : writeFields(field.fields);
    if (field.wire == 2)
      writeVarint(out, bytes.size());
    out += bytes;
  }
  return out;
}

/// The fields of a message, or nothing where the bytes are none.
inline Fields readFields(std::string_view data, int depth = 0) {
  Fields fields;
  std::string_view all = data;
  while (!data.empty()) {
    uint64_t tag, size;
    Field field;
    if (!readVarint(data, tag) || tag >> 3 == 0 || tag >> 3 > 100)
      return {};
    field.number = tag >> 3;
    field.wire = tag & 7;
    if (field.wire == 0) {
      if (!readVarint(data, field.value))
        return {};
    } else {
      if (field.wire == 2 ? !readVarint(data, size)
                          : (size = field.wire == 5   ? 4
                                    : field.wire == 1 ? 8
                                                      : SIZE_MAX) == SIZE_MAX)
        return {};
      if (size > data.size())
        return {};
      field.bytes = std::string(data.substr(0, size));
      if (field.wire == 2 && depth < 12)
        field.fields = readFields(field.bytes, depth + 1);
      data = data.substr(size);
    }
    fields.push_back(std::move(field));
  }
  // Text that looks like fields must at least be written back as it was.
  return writeFields(fields) == all ? fields : Fields();
}

inline void collectFields(Fields &fields,
                          std::vector<std::pair<Fields *, size_t>> &places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.emplace_back(&fields, i);
    collectFields(fields[i].fields, places);
  }
}

inline void mutateFields(Fields &model, Fields &donor, Random &random) {
  std::vector<std::pair<Fields *, size_t>> places, others;
  collectFields(model, places);
  if (places.empty())
    return;
  auto [siblings, i] = places[below(random, places.size())];
  Field &field = (*siblings)[i];
  switch (below(random, 6)) {
  case 0:
    siblings->erase(siblings->begin() + i);
    return;
  case 1: {
    Field copy = field;
    siblings->insert(siblings->begin() + i, std::move(copy));
    return;
  }
  case 2: {
    size_t j = below(random, siblings->size());
    std::swap(field, (*siblings)[j]);
    return;
  }
  case 3:
    // The same field of another message.
    collectFields(donor, others);
    for (int attempt = 0; attempt < 50; ++attempt) {
      auto [from, j] = others[below(random, others.size())];
      if ((*from)[j].number != field.number || (*from)[j].wire != field.wire)
        continue;
      Field copy = (*from)[j];
      field = std::move(copy);
      return;
    }
    return;
  default:
    if (field.wire == 0) {
      static constexpr uint64_t values[] = {0,
                                            1,
                                            2,
                                            3,
                                            7,
                                            8,
                                            uint64_t(-1),
                                            uint64_t(-2),
                                            1u << 16,
                                            1u << 31,
                                            1ull << 32,
                                            1ull << 62,
                                            INT64_MAX,
                                            1ull << 63};
      field.value = values[below(random, std::size(values))];
    } else if (!field.bytes.empty()) {
      // Also the data of a field that looked like a message.
      field.fields.clear();
      field.bytes[below(random, field.bytes.size())] =
          static_cast<char>(random());
    }
  }
}

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_MUTATEPROTOBUF_H
