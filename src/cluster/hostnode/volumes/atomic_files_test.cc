#include "cluster/hostnode/volumes/atomic_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/file.h"

namespace koord::cluster {
namespace {

namespace fs = std::filesystem;

const WallTime kWritten =
    std::chrono::sys_days{std::chrono::year{2026} / 1 / 31} + std::chrono::hours(8);

class AtomicFilesTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder); }
  bool write(const Payload& payload, std::optional<std::uint32_t> group = {}) {
    const auto written = writePayload(folder, payload, group, kWritten);
    EXPECT_TRUE(written) << (written ? "" : written.error().message);
    return written && *written;
  }
  std::set<std::string> names() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  }
  std::string data() { return fs::read_symlink(folder + "/..data"); }
  unsigned modeOf(const std::string& name) {
    struct stat info{};
    ::stat((folder + "/" + name).c_str(), &info);
    return info.st_mode & 07777;
  }

  std::string folder = testing::TempDir() + "payload-" + std::to_string(::getpid());
};

TEST_F(AtomicFilesTest, FilesAreSeenThroughLinksIntoOneFolder) {
  EXPECT_TRUE(write({{"a", {"one"}}, {"sub/deep/b", {"two", 0400}}}));
  EXPECT_EQ(names(), (std::set<std::string>{"..data", data(), "a", "sub"}));
  EXPECT_TRUE(data().starts_with("..2026_01_31_08_00_00.")) << data();
  EXPECT_EQ(fs::read_symlink(folder + "/a"), "..data/a");
  EXPECT_EQ(*readFile(folder + "/sub/deep/b"), "two");
  EXPECT_EQ(modeOf("sub/deep/b"), 0400u);
  EXPECT_EQ(modeOf("a"), 0644u);
}

TEST_F(AtomicFilesTest, WhatCannotBeWrittenLeavesNothing) {
  EXPECT_TRUE(write({{"a", {"one"}}}));
  const auto before = names();
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(writePayload(folder, {{"a", {"two"}}, {"a/b", {"below a file"}}}, {}, kWritten));
  EXPECT_EQ(names(), before);
  EXPECT_EQ(*readFile(folder + "/a"), "one");
}

TEST_F(AtomicFilesTest, WhatStaysTheSameIsNotTouched) {
  EXPECT_TRUE(write({{"a", {"one"}}}));
  const auto before = data();
  EXPECT_FALSE(write({{"a", {"one"}}}));
  EXPECT_EQ(data(), before);
}

TEST_F(AtomicFilesTest, AChangeReplacesAllAndLeavesNothingBehind) {
  write({{"a", {"one"}}, {"b", {"two"}}});
  const auto before = data();
  EXPECT_TRUE(write({{"a", {"new"}}, {"c/d", {"three"}}}));
  EXPECT_NE(data(), before);
  EXPECT_EQ(names(), (std::set<std::string>{"..data", data(), "a", "c"}));
  EXPECT_EQ(*readFile(folder + "/a"), "new");
  EXPECT_TRUE(write({{"a", {"new", 0600}}, {"c/d", {"three"}}})) << "a mode is a change, too";
  EXPECT_TRUE(write({}));
  EXPECT_EQ(names(), (std::set<std::string>{"..data", data()}));
}

TEST_F(AtomicFilesTest, WhatACrashLeftIsClearedAway) {
  write({{"a", {"one"}}});
  ASSERT_TRUE(makeDirs(folder + "/..2025_old.xyz/sub"));
  fs::create_symlink("..2025_old.xyz", folder + "/..data_tmp");
  fs::remove(folder + "/a");  // the folder was exchanged, and the link not yet made
  EXPECT_TRUE(write({{"a", {"two"}}}));
  EXPECT_EQ(names(), (std::set<std::string>{"..data", data(), "a"}));
}

TEST_F(AtomicFilesTest, PathsThatLeadOutAreRefused) {
  for (const char* path : {"../x", "/etc/x", "a/../../x", "..data", ""})
    EXPECT_FALSE(writePayload(folder, {{path, {"x"}}}, {}, kWritten)) << path;
}

TEST_F(AtomicFilesTest, ROOT_AGroupMayReadWhatIsIts) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  write({{"a", {"one", 0400}}, {"t", {"token", 0600, 1234}}}, 4321);
  struct stat info{};
  ASSERT_EQ(::stat((folder + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 4321u);
  EXPECT_EQ(modeOf("a"), 0440u);
  ASSERT_EQ(::stat((folder + "/t").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234u);
  EXPECT_FALSE(write({{"a", {"one", 0400}}, {"t", {"token", 0600, 1234}}}, 4321));
}

}  // namespace
}  // namespace koord::cluster
