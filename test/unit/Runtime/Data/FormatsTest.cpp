// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npy and IDX: types, byte orders, layouts, damage.
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <zlib.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Reads a file of these bytes; the array must be the only one.
Expected<Array> readBytes(const std::string &bytes,
                          const std::string &name = "some.file") {
  TemporaryFolder folder;
  writeFile(folder / name, bytes);
  auto arrays = readArrays(folder / name);
  if (!arrays)
    return arrays.status();
  EXPECT_EQ(arrays->size(), 1u);
  EXPECT_EQ(arrays->front().name, "some");
  return arrays->front().array;
}

std::string errorOf(const std::string &bytes) {
  return readBytes(bytes).status().message();
}

std::string gzip(const std::string &bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  stream.next_in = (Bytef *)bytes.data();
  stream.avail_in = bytes.size();
  stream.next_out = (Bytef *)out.data();
  stream.avail_out = out.size();
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

const std::string idxBytes("\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
                           "\x01\x02\x03\x04\x05\xff",
                           18);

} // namespace

TEST(Npy, ReadsEveryVersion) {
  std::string header = npyHeader("<f4", "(2, 3)");
  std::string elements = raw<float>({1, 2, 3, 4, 5, 6});
  for (int version : {1, 2, 3}) {
    auto array = readBytes(npy(header, elements, version));
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->type.str(), "f32[2x3]");
    EXPECT_THAT(values<float>(*array), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  EXPECT_THAT(errorOf(npy(header, elements, 4)), HasSubstr("version 4"));
}

TEST(Npy, ReadsScalarsVectorsAndOldLongShapes) {
  auto scalar = readBytes(npy(npyHeader("<f8", "()"), raw<double>({2.5})));
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->type.str(), "f64[]");
  auto vector =
      readBytes(npy(npyHeader("<i8", "(2L,)"), raw<int64_t>({-1, 7})));
  ASSERT_TRUE(vector.ok()) << vector.status().message();
  EXPECT_THAT(values<int64_t>(*vector), ElementsAre(-1, 7));
  auto empty = readBytes(npy(npyHeader("|u1", "(0, 5)"), ""));
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_EQ(empty->type.elementCount(), 0u);
}

TEST(Npy, TransposesFortranOrder) {
  // The 2x3 matrix [[1, 2, 3], [4, 5, 6]] by columns.
  auto array = readBytes(
      npy(npyHeader("<i4", "(2, 3)", true), raw<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(array.ok());
  EXPECT_THAT(values<int32_t>(*array), ElementsAre(1, 2, 3, 4, 5, 6));
  // np.arange(8).reshape(2, 2, 2) in Fortran order.
  auto cube = readBytes(npy(npyHeader("|u1", "(2, 2, 2)", true),
                            raw<uint8_t>({0, 4, 2, 6, 1, 5, 3, 7})));
  ASSERT_TRUE(cube.ok());
  EXPECT_THAT(values<uint8_t>(*cube), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Npy, SwapsBigEndian) {
  auto array = readBytes(
      npy(npyHeader(">i2", "(2,)"), std::string("\x01\x02\xff\xfe", 4)));
  ASSERT_TRUE(array.ok());
  EXPECT_THAT(values<int16_t>(*array), ElementsAre(0x0102, -2));
}

TEST(Npy, NamesWhatItCannotRead) {
  std::string one = raw<float>({1});
  EXPECT_THAT(errorOf(npy(npyHeader("<U4", "(1,)"), one)), HasSubstr("'<U4'"));
  EXPECT_THAT(errorOf(npy(npyHeader("|O", "(1,)"), one)), HasSubstr("'|O'"));
  EXPECT_THAT(errorOf(npy("{'descr': [('a', '<f4')], 'fortran_order': False, "
                          "'shape': (1,)}",
                          one)),
              HasSubstr("structured"));
  EXPECT_THAT(errorOf(npy(npyHeader("<f4", "(2,)"), one)),
              HasSubstr("expected 8 bytes of f32[2], got 4"));
  EXPECT_THAT(errorOf(npy(npyHeader("<f4", "(1, -1)"), one)),
              HasSubstr("dimensions of at least 0, got -1"));
  EXPECT_THAT(errorOf(npy(npyHeader("<f4", "(99999999999, 99999999999)"), one)),
              HasSubstr("too many"));
  EXPECT_THAT(errorOf("nonsense"), HasSubstr("another format"));
  EXPECT_THAT(errorOf(""), HasSubstr("empty"));
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string whole = npy(npyHeader("<f4", "(2,)"), raw<float>({1, 2}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readBytes(whole.substr(0, size)).ok()) << size;
}

TEST(Npy, EveryDamagedHeaderByteIsHandled) {
  std::string whole = npy(npyHeader("<f4", "(2,)"), raw<float>({1, 2}));
  for (size_t at = 0; at + 8 < whole.size(); ++at)
    for (char damage : {'\0', '\xff', '\'', '(', '9'}) {
      std::string bytes = whole;
      bytes[at] = damage;
      (void)readBytes(bytes); // An error or a value, never a crash.
    }
}

TEST(Npy, WritesWhatItReads) {
  TemporaryFolder folder;
  std::vector<float> elements = {1, -2, 3.5f, 0};
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{2, 2}, {4}, {1, 4, 1}}) {
    ASSERT_TRUE(
        writeNpy(folder / "w.npy", {ElementType::F32, shape, elements.data()})
            .ok());
    auto arrays = readArrays(folder / "w.npy");
    ASSERT_TRUE(arrays.ok()) << arrays.status().message();
    EXPECT_EQ(arrays->front().array.type.shape, shape);
    EXPECT_EQ(values<float>(arrays->front().array), elements);
  }
}

TEST(Idx, ReadsBigEndianTypes) {
  auto bytes = readBytes(idxBytes);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(bytes->type.str(), "u8[2x3]");
  EXPECT_THAT(values<uint8_t>(*bytes), ElementsAre(1, 2, 3, 4, 5, 255));
  auto shorts = readBytes(std::string("\0\0\x0b\x01\0\0\0\x02"
                                      "\x01\x00\xff\xff",
                                      12));
  ASSERT_TRUE(shorts.ok());
  EXPECT_THAT(values<int16_t>(*shorts), ElementsAre(256, -1));
  // 1.0f is 3f800000.
  auto floats = readBytes(std::string("\0\0\x0d\x01\0\0\0\x01"
                                      "\x3f\x80\0\0",
                                      12));
  ASSERT_TRUE(floats.ok());
  EXPECT_THAT(values<float>(*floats), ElementsAre(1.0f));
}

TEST(Idx, ReadsGzip) {
  auto array = readBytes(gzip(idxBytes), "some.idx.gz");
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_THAT(values<uint8_t>(*array), ElementsAre(1, 2, 3, 4, 5, 255));
  // Two members in a row are one file.
  auto both = readBytes(gzip(idxBytes.substr(0, 7)) + gzip(idxBytes.substr(7)));
  ASSERT_TRUE(both.ok()) << both.status().message();
}

TEST(Idx, DamageIsAnError) {
  for (size_t size = 0; size < idxBytes.size(); ++size)
    EXPECT_FALSE(readBytes(idxBytes.substr(0, size)).ok()) << size;
  EXPECT_THAT(errorOf(idxBytes + "x"), HasSubstr("expected 6 bytes"));
  std::string unknown = idxBytes;
  unknown[2] = 0x0f;
  EXPECT_THAT(errorOf(unknown), HasSubstr("type 15"));
  std::string packed = gzip(idxBytes);
  for (size_t size = 1; size < packed.size(); ++size)
    EXPECT_FALSE(readBytes(packed.substr(0, size)).ok()) << size;
  packed[packed.size() - 6] ^= 1; // In the checksum.
  EXPECT_THAT(errorOf(packed), HasSubstr("damaged"));
}
