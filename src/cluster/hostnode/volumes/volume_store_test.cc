#include "cluster/hostnode/volumes/volume_store.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "cluster/hostnode/mounts/mount_table.h"

namespace koord::cluster {
namespace {

namespace fs = std::filesystem;
using Kind = VolumeSetUp::Kind;

class VolumeStoreTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(makeDirs(root)); }
  void TearDown() override {
    (void)unmountBelow(root);
    fs::remove_all(root);
  }
  std::string setUp(VolumeSetUp volume, std::optional<std::uint32_t> group = {}) {
    volume.name = "v";
    if (volume.type.empty()) volume.type = "empty-dir";
    auto path = setUpVolume(pod, volume, group, WallTime{});
    return path ? *path : "error: " + path.error().message;
  }
  std::string check(const std::string& path, const std::string& type) {
    auto checked = checkHostPath(path, type);
    return checked ? "" : checked.error().message;
  }
  unsigned modeOf(const std::string& path) {
    struct stat info{};
    ::stat(path.c_str(), &info);
    return info.st_mode & 07777;
  }

  std::string root = testing::TempDir() + "volumes-" + std::to_string(::getpid());
  std::string pod = root + "/uid";
};

TEST_F(VolumeStoreTest, AnEmptyDirIsOpenToAllAndKeepsWhatAContainerMakesOfIt) {
  const auto path = setUp({.kind = Kind::EmptyDir});
  EXPECT_EQ(path, pod + "/volumes/kubernetes.io~empty-dir/v");
  EXPECT_EQ(modeOf(path), 0777u);
  ASSERT_TRUE(writeFileAtomic(path + "/file", "x"));
  fs::permissions(path, fs::perms(0700));
  EXPECT_EQ(setUp({.kind = Kind::EmptyDir}), path);
  EXPECT_EQ(modeOf(path), 0700u);
  EXPECT_TRUE(fs::exists(path + "/file"));
}

TEST_F(VolumeStoreTest, ROOT_MemoryIsAsLargeAsItMayBeAndGoneAfterwards) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto path = setUp({.kind = Kind::Memory, .sizeBytes = 1 << 20}, 77);
  if (path.starts_with("error: ")) GTEST_SKIP() << path;
  struct statvfs space{};
  ASSERT_EQ(::statvfs(path.c_str(), &space), 0);
  EXPECT_EQ(space.f_blocks * space.f_frsize, 1u << 20);
  EXPECT_EQ(modeOf(path), 02777u);
  ASSERT_TRUE(writeFileAtomic(path + "/file", "x"));
  EXPECT_EQ(setUp({.kind = Kind::Memory, .sizeBytes = 1 << 20}), path) << "once more";
  EXPECT_TRUE(fs::exists(path + "/file"));
  ASSERT_TRUE(tearDownPod(pod));
  EXPECT_FALSE(fs::exists(pod));
  EXPECT_EQ(mountsBelow(*readFile("/proc/self/mountinfo"), root).size(), 0u);
}

TEST_F(VolumeStoreTest, HostPathsAreWhatTheirTypeSays) {
  EXPECT_EQ(check(root + "/made", ""), "");
  EXPECT_EQ(check(root + "/made2/deep", "DirectoryOrCreate"), "");
  EXPECT_EQ(modeOf(root + "/made2/deep"), 0755u);
  EXPECT_EQ(check(root + "/file", "FileOrCreate"), "");
  EXPECT_EQ(check(root + "/file", "File"), "");
  EXPECT_EQ(check(root + "/made", "Directory"), "");
  EXPECT_EQ(check("/dev/null", "CharDevice"), "");
  EXPECT_EQ(check(root + "/none", "File"), "hostPath " + root + "/none doesn't exist");
  EXPECT_EQ(check(root + "/file", "DirectoryOrCreate"),
            "hostPath type check failed: " + root + "/file is not a directory, it's a File");
  EXPECT_EQ(check("/dev/null", "BlockDevice"),
            "hostPath type check failed: /dev/null is not a block device, it's a CharDevice");
  EXPECT_EQ(check(root + "/made", "Socket"),
            "hostPath type check failed: " + root + "/made is not a socket file, it's a Directory");
  EXPECT_EQ(check(root, "Pipe"), "Pipe is an invalid volume type");
  EXPECT_NE(check(root + "/../x", ""), "");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  (root + "/s").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(check(root + "/s", "Socket"), "");
  ::close(fd);
}

TEST_F(VolumeStoreTest, ALocalVolumeMustBeAFolderThatIsThere) {
  EXPECT_EQ(setUp({.kind = Kind::Local, .path = root + "/disk"}),
            "error: path \"" + root + "/disk\" does not exist");
  ASSERT_TRUE(makeDirs(root + "/disk"));
  EXPECT_EQ(setUp({.kind = Kind::Local, .path = root + "/disk"}), root + "/disk");
}

TEST_F(VolumeStoreTest, ROOT_ALocalVolumeIsGivenToTheGroupOfThePodOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(makeDirs(root + "/disk/sub"));
  ASSERT_TRUE(writeFileAtomic(root + "/disk/sub/file", "x"));
  setUp({.kind = Kind::Local, .path = root + "/disk"}, 77);
  struct stat info{};
  ASSERT_EQ(::stat((root + "/disk/sub/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 77u);
  EXPECT_EQ(modeOf(root + "/disk/sub/file"), 0660u);
  EXPECT_EQ(modeOf(root + "/disk") & 02070, 02070u);
  ASSERT_TRUE(writeFileAtomic(root + "/disk/later", "x"));
  setUp({.kind = Kind::Local, .path = root + "/disk"}, 77);
  EXPECT_EQ(modeOf(root + "/disk/later"), 0600u);
}

TEST_F(VolumeStoreTest, ROOT_ABoundSubPathIsTakenOffBeforeAnythingIsRemoved) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(makeDirs(root + "/host/sub"));
  ASSERT_TRUE(writeFileAtomic(root + "/host/sub/kept", "x"));
  const std::string target = pod + "/volume-subpaths/v/main/0";
  const auto prepared = prepareSubPath({root + "/host", "sub", "/x"}, target);
  if (!prepared) GTEST_SKIP() << prepared.error().message;
  EXPECT_TRUE(fs::exists(target + "/kept"));
  ASSERT_TRUE(tearDownPod(pod));
  EXPECT_FALSE(fs::exists(pod));
  EXPECT_TRUE(fs::exists(root + "/host/sub/kept"));
}

TEST_F(VolumeStoreTest, PodsAreFoundByTheirFolders) {
  setUp({.kind = Kind::EmptyDir});
  EXPECT_EQ(podsIn(root), std::vector<std::string>{"uid"});
  EXPECT_TRUE(podsIn(root + "/none").empty());
  EXPECT_TRUE(tearDownPod(root + "/never"));
}

}  // namespace
}  // namespace koord::cluster
