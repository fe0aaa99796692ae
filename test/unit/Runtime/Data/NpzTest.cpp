// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npz archives: stored, deflated, zip64, damage.
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <zlib.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Member {
  std::string name, bytes;
  bool deflated = false, zip64 = false;
};

std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string deflateRaw(const std::string &bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, 0), Z_OK);
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

/// As APPNOTE.TXT of the zip format lays it out.
std::string zip(const std::vector<Member> &members, bool zip64End = false) {
  std::string file, directory;
  for (const Member &member : members) {
    std::string data =
        member.deflated ? deflateRaw(member.bytes) : member.bytes;
    uint32_t crc =
        crc32(0, (const Bytef *)member.bytes.data(), member.bytes.size());
    uint64_t offset = file.size();
    std::string method = little(member.deflated ? 8 : 0, 2);
    std::string extra;
    if (member.zip64)
      extra = little(1, 2) + little(24, 2) + little(member.bytes.size(), 8) +
              little(data.size(), 8) + little(offset, 8);
    auto size = [&](uint64_t value) {
      return little(member.zip64 ? 0xffffffff : value, 4);
    };
    std::string common = little(0, 2) + method + little(0, 4) + little(crc, 4) +
                         size(data.size()) + size(member.bytes.size()) +
                         little(member.name.size(), 2);
    // A local extra field of another length than the directory's.
    file += little(0x04034b50, 4) + little(45, 2) + common + little(4, 2) +
            member.name + little(0x9999, 2) + little(0, 2) + data;
    directory += little(0x02014b50, 4) + little(45, 2) + little(45, 2) +
                 common + little(extra.size(), 2) + little(0, 2) +
                 little(0, 2) + little(0, 2) + little(0, 4) + size(offset) +
                 member.name + extra;
  }
  uint64_t start = file.size(), end = start + directory.size();
  file += directory;
  if (zip64End) {
    file += little(0x06064b50, 4) + little(44, 8) + little(45, 2) +
            little(45, 2) + little(0, 4) + little(0, 4) +
            little(members.size(), 8) + little(members.size(), 8) +
            little(directory.size(), 8) + little(start, 8);
    file +=
        little(0x07064b50, 4) + little(0, 4) + little(end, 8) + little(1, 4);
  }
  return file + little(0x06054b50, 4) + little(0, 4) +
         little(zip64End ? 0xffff : members.size(), 2) +
         little(zip64End ? 0xffff : members.size(), 2) +
         little(directory.size(), 4) +
         little(zip64End ? 0xffffffff : start, 4) + little(0, 2);
}

std::string floats() {
  return npy(npyHeader("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
}
std::string labels() {
  return npy(npyHeader("<i8", "(2,)"), raw<int64_t>({7, 9}));
}

Expected<std::vector<NamedArray>> readBytes(const std::string &bytes) {
  TemporaryFolder folder;
  writeFile(folder / "d.npz", bytes);
  return readArrays(folder / "d.npz");
}

} // namespace

TEST(Npz, ReadsStoredDeflatedAndZip64) {
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true})
      for (bool zip64End : {false, true}) {
        auto arrays = readBytes(zip({{"x.npy", floats(), deflated, zip64},
                                     {"labels.npy", labels(), deflated, zip64}},
                                    zip64End));
        ASSERT_TRUE(arrays.ok()) << arrays.status().message();
        ASSERT_EQ(arrays->size(), 2u);
        EXPECT_EQ((*arrays)[0].name, "x");
        EXPECT_EQ((*arrays)[1].name, "labels");
        EXPECT_THAT(values<float>((*arrays)[0].array), ElementsAre(1, 2, 3, 4));
        EXPECT_THAT(values<int64_t>((*arrays)[1].array), ElementsAre(7, 9));
      }
}

TEST(Npz, NamesWhatIsWrong) {
  auto message = [](const std::string &bytes) {
    return readBytes(bytes).status().message();
  };
  EXPECT_THAT(message(zip({{"readme.txt", "hello"}})),
              HasSubstr("'readme.txt'"));
  std::string flipped = zip({{"x.npy", floats()}});
  flipped[flipped.find(raw<float>({3})) + 2] ^= 1;
  EXPECT_THAT(message(flipped), HasSubstr("x.npy: checksum differs"));
  std::string bzip = zip({{"x.npy", floats()}});
  bzip[bzip.find("PK\1\2") + 10] = 12;
  EXPECT_THAT(message(bzip), HasSubstr("zip method 12"));
}

TEST(Npz, EveryTruncationIsAnErrorAndNoDamageCrashes) {
  std::string whole =
      zip({{"x.npy", floats(), true, true}, {"labels.npy", labels()}}, true);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readBytes(whole.substr(0, size)).ok()) << size;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int damage : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ damage);
      (void)readBytes(bytes);
    }
}

TEST(DataSet, OpensColumnsByName) {
  TemporaryFolder folder;
  writeFile(folder / "d.npz",
            zip({{"x.npy", floats()}, {"labels.npy", labels()}}));
  writeFile(folder / "y.npy", labels());
  auto all = DataSet::open(std::vector<std::string>{folder / "d.npz"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->str(), "x f32[2x2], labels i64[2]");
  auto picked = DataSet::open(std::vector<std::string>{
      "a=" + (folder / "d.npz") + ":x", "b=" + (folder / "y.npy")});
  ASSERT_TRUE(picked.ok()) << picked.status().message();
  EXPECT_EQ(picked->str(), "a f32[2x2], b i64[2]");
  auto message = [&](std::vector<std::string> specs) {
    return DataSet::open(specs).status().message();
  };
  EXPECT_THAT(message({"a=" + (folder / "d.npz")}),
              HasSubstr("expected one array for column 'a', got x f32[2x2]"));
  EXPECT_THAT(message({"a=" + (folder / "d.npz") + ":z"}),
              HasSubstr("no array 'z'"));
  EXPECT_THAT(message({folder / "y.npy", folder / "y.npy"}),
              HasSubstr("'y' is given twice"));
  EXPECT_THAT(message({folder / "none.npy"}), HasSubstr("cannot open"));
}
