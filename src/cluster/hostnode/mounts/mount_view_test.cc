#include "cluster/hostnode/mounts/mount_view.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"

namespace koord::cluster {
namespace {

namespace fs = std::filesystem;

// Each test looks at a view from a shell that has entered it.
class MountViewTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    root = fs::canonical(testing::TempDir()).string() + "/view-" + std::to_string(::getpid());
    ASSERT_TRUE(makeDirs(root + "/source/in"));
    ASSERT_TRUE(makeDirs(root + "/there"));
    ASSERT_TRUE(makeDirs(root + "/staging"));
    ASSERT_TRUE(writeFileAtomic(root + "/source/in/file", "volume"));
    ASSERT_TRUE(writeFileAtomic(root + "/there/file", "host"));
    before = mounts();
  }
  // The host's mounts that have to do with this test: other tests mount, too.
  std::string mounts() const {
    std::string lines;
    std::istringstream all(*readFile("/proc/self/mountinfo"));
    for (std::string line; std::getline(all, line);)
      if (line.find(root) != std::string::npos) lines += line + "\n";
    return lines;
  }
  void TearDown() override {
    if (root.empty()) return;
    EXPECT_EQ(mounts(), before) << "the host's mounts have changed";
    EXPECT_TRUE(fs::is_empty(root + "/staging"));
    fs::remove_all(root);
  }

  // The output of a script in the view; "error: ..." if the view cannot be entered.
  std::string see(ViewOptions options, const std::string& script) {
    options.staging = root + "/staging";
    const std::string out = root + "/out";
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      // The file stays open, so that it can be written to from any view.
      if (!::freopen(out.c_str(), "w", stdout)) ::_exit(1);
      ::dup2(1, 2);
      if (auto entered = enterMountView(options); !entered) {
        std::printf("error: %s\n", entered.error().message.c_str());
        std::fflush(stdout);
        ::_exit(0);
      }
      ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return readFile(out).value_or("");
  }
  MountSpec mount(const std::string& target, const std::string& subPath = "") {
    return {root + "/source", subPath, target};
  }

  std::string root;
  std::string before;
};

TEST_F(MountViewTest, ROOT_CoversAFolderThatTheHostHas) {
  EXPECT_EQ(see({{mount(root + "/there")}}, "cat " + root + "/there/in/file"), "volume");
  EXPECT_EQ(*readFile(root + "/there/file"), "host");
}

TEST_F(MountViewTest, ROOT_MakesMountPointsInTheViewOnly) {
  const std::string top = "/koord-view-test";
  const auto seen = see(
      {{mount(top + "/deep"), mount(root + "/there/new"), mount(root + "/there/x.txt", "in/file")}},
      "cat " + top + "/deep/in/file " + root + "/there/new/in/file " + root + "/there/x.txt " +
          root + "/there/file; pwd; ls -d /etc /proc/self/ns");
  EXPECT_EQ(seen, "volumevolumevolumehost/\n/etc\n/proc/self/ns\n");
  EXPECT_FALSE(fs::exists(top));
  EXPECT_FALSE(fs::exists(root + "/there/new"));
}

TEST_F(MountViewTest, ROOT_FilesBesideAMountPointAreTheHostsOwn) {
  ASSERT_TRUE(makeDirs(root + "/there/folder"));
  see({{mount(root + "/there/new")}},
      "cd " + root + "/there; echo changed > file; echo made > folder/made; echo own > own");
  EXPECT_EQ(*readFile(root + "/there/file"), "changed\n");
  EXPECT_EQ(*readFile(root + "/there/folder/made"), "made\n");
  EXPECT_FALSE(fs::exists(root + "/there/own"))
      << "a name made in the covered folder is the view's own";
}

TEST_F(MountViewTest, ROOT_LinksOnTheWayAreFollowed) {
  fs::create_symlink(root + "/there", root + "/link");
  EXPECT_EQ(see({{mount(root + "/link/new")}}, "cat " + root + "/there/new/in/file"), "volume");
}

TEST_F(MountViewTest, ROOT_MountsNestInAnyOrder) {
  EXPECT_EQ(see({{mount("/koord-view-test/a/b", "in"), mount("/koord-view-test/a")}},
                "cat /koord-view-test/a/b/file; ls /koord-view-test/a"),
            "volumeb\nin\n");
  EXPECT_TRUE(fs::exists(root + "/source/b")) << "as runc, in the volume";
}

TEST_F(MountViewTest, ROOT_ReadOnlyMeansThat) {
  auto locked = mount("/koord-view-test");
  locked.readOnly = true;
  EXPECT_NE(see({{locked}}, "touch /koord-view-test/x").find("Read-only file system"),
            std::string::npos);
  EXPECT_EQ(
      see({{mount("/koord-view-test")}, true},
          "touch " + root + "/x /x 2>&1 | grep -c Read-only; touch /koord-view-test/y && echo ok"),
      "2\nok\n");
  EXPECT_TRUE(fs::exists(root + "/source/y"));
}

TEST_F(MountViewTest, ROOT_ASubPathIsMadeAndDoesNotLeaveTheVolume) {
  fs::create_symlink(root + "/there", root + "/source/out");
  fs::create_symlink("in/file", root + "/source/good");
  EXPECT_EQ(see({{mount("/koord-view-test", "good")}}, "cat /koord-view-test"), "volume");
  EXPECT_EQ(see({{mount("/koord-view-test", "new/deep")}}, "touch /koord-view-test/x && echo ok"),
            "ok\n");
  EXPECT_TRUE(fs::exists(root + "/source/new/deep/x"));
  EXPECT_EQ(see({{mount("/koord-view-test", "out")}}, "true"),
            "error: volume for /koord-view-test: out leads out of " + root + "/source\n");
}

TEST_F(MountViewTest, ROOT_WhatCannotBeMountedIsSaid) {
  EXPECT_EQ(
      see({{mount(root + "/there/file")}}, "true"),
      "error: mount " + root + "/there/file: is a file on this host, and the volume is a folder\n");
  EXPECT_EQ(
      see({{mount(root + "/there", "in/file")}}, "true"),
      "error: mount " + root + "/there: is a folder on this host, and the volume is a file\n");
  EXPECT_EQ(see({{mount("/")}}, "true"), "error: mount /: a volume cannot be mounted on /\n");
  EXPECT_EQ(see({{MountSpec{root + "/none", "", "/x"}}}, "true").find("error: volume for /x: "),
            0u);
}

TEST_F(MountViewTest, ROOT_MountsOfTheHostComeInWhereThatIsAskedFor) {
  auto shared = mount("/koord-view-test");
  shared.propagation = Propagation::HostToContainer;
  EXPECT_EQ(see({{shared}}, "cat /koord-view-test/in/file"), "volume");
  shared.propagation = Propagation::Bidirectional;
  EXPECT_EQ(see({{shared}}, "grep -c 'koord-view-test.*shared:' /proc/self/mountinfo"), "1\n");
}

}  // namespace
}  // namespace koord::cluster
