// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that appear whole or not at all, and what is no file.
#include "bessemer/runtime/Files.h"
#include "TestFiles.h"

#include <filesystem>
#include <sys/stat.h>
#include <thread>

using namespace bessemer::test;
using namespace bessemer::runtime;
namespace fs = std::filesystem;

TEST(Files, ReplacesAFileAndLeavesNothingElse) {
  TemporaryFolder folder;
  for (const char *text : {"one", "three"}) {
    ASSERT_TRUE(writeFileAtomically(folder / "f", text).ok());
    EXPECT_EQ(readFile(folder / "f"), text);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
}

TEST(Files, WritesWhereALinkLeads) {
  TemporaryFolder folder;
  fs::create_directory(folder / "d");
  writeFile(folder / "d/f", "old");
  fs::create_symlink("d/f", folder / "link");
  ASSERT_TRUE(writeFileAtomically(folder / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(readFile(folder / "d/f"), "new");
}

TEST(Files, WritesToWhatIsNoFile) {
  // The device stays one.
  EXPECT_EQ(writeFileAtomically("/dev/full", "text").message(),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = readFile(folder / "pipe"); });
  EXPECT_TRUE(writeFileAtomically(folder / "pipe", "text").ok());
  reader.join();
  EXPECT_EQ(got, "text");
}

TEST(Files, NamesWhatCannotBeWritten) {
  TemporaryFolder folder;
  EXPECT_EQ(writeFileAtomically(folder.path, "text").message(),
            folder.path + ": expected a file, got a directory");
  EXPECT_EQ(writeFileAtomically("", "text").message(),
            "expected a file to write, got an empty name");
  std::string path = folder / "none/f";
  EXPECT_EQ(writeFileAtomically(path, "text").message(),
            path + ": cannot create: No such file or directory");
}
