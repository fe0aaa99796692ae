// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged models through the importer: each is imported or refused with a
// message; none crashes, hangs or throws. Besides cuts and flipped bytes, the
// fields of the protobuf are removed, doubled, exchanged and given the numbers
// that break sizes, so that most mutants get past the parser.
// test/e2e/test_fuzz_models.py takes such mutants through the whole compiler.

#include "bessemer/Import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace bessemer;

namespace {

using Random = std::mt19937;

size_t below(Random &random, size_t bound) { return random() % bound; }

/// A field of a protobuf message: a number, or bytes that may themselves be
/// fields.
struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t value = 0;
  std::string bytes;
  std::vector<Field> fields;
};

bool readVarint(llvm::StringRef &data, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !data.empty(); shift += 7) {
    uint8_t byte = data.front();
    data = data.drop_front();
    value |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

void writeVarint(std::string &out, uint64_t value) {
  for (; value > 127; value >>= 7)
    out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

std::string write(const std::vector<Field> &fields) {
  std::string out;
  for (const Field &field : fields) {
    writeVarint(out, uint64_t(field.number) << 3 | field.wire);
    if (field.wire == 0) {
      writeVarint(out, field.value);
      continue;
    }
    std::string bytes =
        field.fields.empty() ? field.bytes : write(field.fields);
    if (field.wire == 2)
      writeVarint(out, bytes.size());
    out += bytes;
  }
  return out;
}

/// The fields of a message, or nothing where the bytes are none.
std::vector<Field> read(llvm::StringRef data, int depth = 0) {
  std::vector<Field> fields;
  llvm::StringRef all = data;
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
      field.bytes = data.take_front(size).str();
      if (field.wire == 2 && depth < 12)
        field.fields = read(field.bytes, depth + 1);
      data = data.drop_front(size);
    }
    fields.push_back(std::move(field));
  }
  // Text that looks like fields must at least be written back as it was.
  return write(fields) == all ? fields : std::vector<Field>();
}

void collect(std::vector<Field> &fields,
             std::vector<std::pair<std::vector<Field> *, size_t>> &places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.emplace_back(&fields, i);
    collect(fields[i].fields, places);
  }
}

void mutate(std::vector<Field> &model, std::vector<Field> &donor,
            Random &random) {
  std::vector<std::pair<std::vector<Field> *, size_t>> places, others;
  collect(model, places);
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
    collect(donor, others);
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

std::string damaged(const std::string &bytes, Random &random) {
  std::string result = bytes;
  if (below(random, 4) == 0) {
    result.resize(below(random, result.size()));
    return result;
  }
  for (size_t i = 0, end = 1 + below(random, 8); i < end; ++i)
    result[below(random, result.size())] = static_cast<char>(random());
  return result;
}

} // namespace

TEST(ImportFuzz, EveryMutantIsImportedOrRefused) {
  std::vector<std::string> models;
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator
           entry(BESSEMER_SOURCE_DIR "/test/e2e/goldens", error),
       end;
       entry != end && !error; entry.increment(error))
    paths.push_back(entry->path() + "/model.onnx");
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    if (auto file = llvm::MemoryBuffer::getFile(path))
      models.push_back((*file)->getBuffer().str());
  ASSERT_GE(models.size(), 5u);
  std::vector<std::vector<Field>> trees;
  for (const std::string &model : models) {
    trees.push_back(read(model));
    ASSERT_EQ(write(trees.back()), model);
  }

  const char *rounds = getenv("BESSEMER_FUZZ_ROUNDS");
  const char *dump = getenv("BESSEMER_FUZZ_DUMP");
  int accepted = 0, total = rounds ? atoi(rounds) : 2000;
  for (int round = 0; round < total; ++round) {
    Random random(round);
    size_t index = below(random, models.size());
    std::string mutant;
    if (round % 4 == 0) {
      mutant = damaged(models[index], random);
    } else {
      std::vector<Field> model = trees[index];
      std::vector<Field> donor = trees[below(random, trees.size())];
      for (size_t i = 0, end = 1 + below(random, 3); i < end; ++i)
        mutate(model, donor, random);
      mutant = write(model);
    }
    // To look at a mutant that crashes.
    if (dump)
      std::ofstream(dump, std::ios::binary) << mutant;
    SCOPED_TRACE(round);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::ScopedDiagnosticHandler quiet(
        &context, [](mlir::Diagnostic &) { return mlir::success(); });
    ImportDiagnostics diagnostics;
    ImportOptions options;
    options.batch = 2;
    options.bytes = mutant;
    auto begin = std::chrono::steady_clock::now();
    bool isImported = false;
    EXPECT_NO_THROW(isImported = llvm::succeeded(
                        importOnnx(context, options, diagnostics)));
    auto seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    EXPECT_LT(seconds.count(), 5);
    accepted += isImported;
    if (isImported)
      continue;
    EXPECT_FALSE(diagnostics.errors.empty());
    for (const std::string &line : diagnostics.errors) {
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
      EXPECT_EQ(line.find("internal error"), std::string::npos) << line;
    }
  }
  // Otherwise only the parser would be tested.
  EXPECT_GT(accepted, total / 20);
}
