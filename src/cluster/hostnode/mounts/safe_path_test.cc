#include "cluster/hostnode/mounts/safe_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/without_openat2.h"
#include "cluster/hostnode/mounts/mount_table.h"

namespace koord::cluster {
namespace {

namespace fs = std::filesystem;

class SafePathTest : public testing::Test {
 protected:
  void SetUp() override {
    root = testing::TempDir() + "safe-path-" + std::to_string(::getpid());
    volume = root + "/volume";
    ASSERT_TRUE(makeDirs(volume + "/a/b"));
    ASSERT_TRUE(makeDirs(root + "/secret"));
    ASSERT_TRUE(writeFileAtomic(volume + "/a/file", "x"));
  }
  void TearDown() override {
    (void)unmountBelow(root);
    fs::remove_all(root);
  }
  void link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, volume + "/" + name);
  }
  std::string errorOf(const Result<Fd>& result) { return result ? "" : result.error().message; }

  std::string root;
  std::string volume;
};

TEST_F(SafePathTest, FindsFoldersFilesAndLinksThatStayInside) {
  link("a/b", "inside");
  for (const char* path : {"a", "a/file", "inside", "a/../a/b", ""})
    EXPECT_TRUE(openBeneath(volume, path)) << path;
  EXPECT_EQ(openBeneath(volume, "none").error().code, ErrorCode::NotFound);
}

TEST_F(SafePathTest, NothingLeadsOut) {
  link("../secret", "up");
  link(root + "/secret", "absolute");
  link("absolute", "twice");
  link("loop", "loop");
  for (const char* path : {"..", "../secret", "a/../../secret", "up", "absolute", "twice", "up/new",
                           "absolute/new", "loop"}) {
    EXPECT_EQ(openBeneath(volume, path).error().code, ErrorCode::Forbidden) << path;
    EXPECT_FALSE(makeBeneath(volume, path)) << path;
  }
  EXPECT_TRUE(fs::is_empty(root + "/secret"));
}

TEST_F(SafePathTest, MakesFoldersThatAreMissingWithTheRightsOfTheVolume) {
  fs::permissions(volume, fs::perms(0751));
  ASSERT_TRUE(makeBeneath(volume, "a/new//./deep")) << errorOf(makeBeneath(volume, "a/new/deep"));
  struct stat info{};
  ASSERT_EQ(::stat((volume + "/a/new/deep").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0751u & ~022u);
  link("nowhere", "dangling");
  EXPECT_FALSE(makeBeneath(volume, "dangling/x"));
}

TEST_F(SafePathTest, AKernelWithoutOpenat2GivesTheSameAnswers) {
  link("a/b", "inside");
  link("../volume/a", "around");  // it leaves and comes back
  link("../secret", "up");
  link(root + "/secret", "absolute");
  link("loop", "loop");
  link("/proc/self/root", "a/magic");
  link("file/", "a/slashed");
  const auto answers = [this] {
    std::string text;
    for (const char* path : {"",         "a",         "a/file",         "inside",
                             "a/../a/b", "inside/..", "inside/../file", "a/./b//",
                             "none",     "a/file/x",  "a/file/..",      "a/file/.",
                             "..",       "../secret", "a/../../secret", "around",
                             "up",       "absolute",  "up/new",         "loop",
                             "/a",       "a/magic",   "a/file/",        "inside/",
                             "a/slashed"}) {
      const auto found = openBeneath(volume, path);
      struct stat info{};
      if (found) (void)::fstat(found->get(), &info);
      text += fmt::format("{}: {} {}\n", path, found ? 0 : static_cast<int>(found.error().code),
                          info.st_ino);
    }
    return text;
  };
  const std::string expected = answers();
  for (const int error : {ENOSYS, EPERM}) {
    EXPECT_TRUE(withoutOpenat2(error, [&] {
      const std::string got = answers();
      if (got != expected) fmt::print(stderr, "expected\n{}got\n{}", expected, got);
      return got == expected && makeBeneath(volume, "a/new/deep").has_value() &&
             !makeBeneath(volume, "up/new").has_value();
    }));
  }
  EXPECT_TRUE(fs::exists(volume + "/a/new/deep"));
  EXPECT_TRUE(fs::is_empty(root + "/secret"));
}

TEST_F(SafePathTest, RemovesTreesAndLinksButNotWhatLinksShow) {
  link(root + "/secret", "absolute");
  ASSERT_TRUE(writeFileAtomic(root + "/secret/kept", "x"));
  ASSERT_TRUE(removeTree(volume));
  EXPECT_FALSE(fs::exists(volume));
  EXPECT_TRUE(fs::exists(root + "/secret/kept"));
  EXPECT_TRUE(removeTree(volume)) << "once more";
}

TEST_F(SafePathTest, ROOT_NeverRemovesWhatIsMounted) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(writeFileAtomic(root + "/secret/kept", "x"));
  const auto source = openBeneath(root, "secret");
  ASSERT_TRUE(source);
  if (auto bound = bindAt(*source, volume + "/a/b/bound"); !bound)
    GTEST_SKIP() << bound.error().message;
  const auto removed = removeTree(volume);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ErrorCode::Conflict);
  EXPECT_TRUE(fs::exists(root + "/secret/kept"));
  EXPECT_TRUE(withoutOpenat2(ENOSYS, [this] {
    const auto refused = removeTree(volume);
    return !refused && refused.error().code == ErrorCode::Conflict;
  }));
  EXPECT_TRUE(fs::exists(root + "/secret/kept"));
  ASSERT_TRUE(unmountBelow(volume));
  EXPECT_TRUE(withoutOpenat2(ENOSYS, [this] { return removeTree(volume).has_value(); }));
  EXPECT_FALSE(fs::exists(volume));
  EXPECT_TRUE(fs::exists(root + "/secret/kept"));
}

TEST_F(SafePathTest, ROOT_ABindFollowsWhatItsNameBecame) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string target = root + "/bound";
  const auto bind = [&](const char* name) {
    auto source = openBeneath(volume, name);
    return source ? bindAt(*source, target) : fail(source.error());
  };
  if (auto bound = bind("a/file"); !bound) GTEST_SKIP() << bound.error().message;
  ASSERT_TRUE(writeFileAtomic(volume + "/other", "y"));
  EXPECT_EQ(*readFile(target), "x");
  ASSERT_TRUE(bind("other"));
  EXPECT_EQ(*readFile(target), "y");
  ASSERT_TRUE(bind("other"));
  ASSERT_TRUE(unmountBelow(target));
  EXPECT_EQ(*readFile(target), "") << "mounted more than once";
}

TEST(MountTableTest, ListsWhatIsBelowAPathInTheOrderToUnmountIt) {
  const std::string table =
      "21 1 8:1 / / rw - ext4 /dev/sda rw\n"
      "30 21 0:1 / /data/pods rw - tmpfs a rw\n"
      "31 30 0:2 / /data/pods/with\\040space rw - tmpfs b rw\n"
      "32 21 0:3 / /data/podsother rw - tmpfs c rw\n";
  EXPECT_EQ(mountsBelow(table, "/data/pods"),
            (std::vector<std::string>{"/data/pods/with space", "/data/pods"}));
  EXPECT_EQ(mountsBelow(table, "/none"), std::vector<std::string>{});
}

}  // namespace
}  // namespace koord::cluster
