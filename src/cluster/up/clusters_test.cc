#include "cluster/up/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cluster/up/data_dir.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

TEST(ClustersTest, NamesAreLabels) {
  for (const char* good : {"a", "a-b", "7", "default"}) EXPECT_TRUE(checkClusterName(good)) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a/b", "..", ".", "a b", "ä", "a.b", "a\n"})
    EXPECT_FALSE(checkClusterName(bad)) << bad;
  EXPECT_FALSE(checkClusterName(std::string(41, 'a')));
}

TEST(ClustersTest, AFolderHasOneName) {
  EXPECT_EQ(fullDataDir("/a/./b//"), "/a/b");
  EXPECT_EQ(fullDataDir("/"), "/");
  EXPECT_EQ(fullDataDir("a"), (fs::current_path() / "a").string());
  EXPECT_EQ(clusterNameOf(dataDirOf("a") + "/"), "a");
}

TEST(ClustersTest, EachNameHasAFolder) {
  EXPECT_EQ(dataDirOf("default"), defaultDataDir());
  EXPECT_EQ(dataDirOf("a"), defaultDataDir() + "/clusters/a");
  EXPECT_EQ(clusterNameOf(dataDirOf("a")), "a");
  EXPECT_EQ(clusterNameOf(defaultDataDir()), "default");
  EXPECT_EQ(clusterNameOf("/somewhere/a"), "");
}

class ClusterFolderTest : public testing::Test {
 protected:
  ClusterFolderTest() {
    std::string path = (fs::temp_directory_path() / "clusters-XXXXXX").string();
    folder = ::mkdtemp(path.data());
    outside = folder + "-outside";
    std::ofstream(outside) << "kept";
  }
  ~ClusterFolderTest() override {
    fs::remove_all(folder);
    fs::remove(outside);
  }
  std::string folder, outside;
};

TEST_F(ClusterFolderTest, DeletionLeavesNothingAndFollowsNoLink) {
  {
    const auto data = DataDir::open(folder);
  }
  std::ofstream(folder + "/cluster.db") << "x";
  fs::create_symlink(outside, folder + "/containers/link");
  fs::create_symlink(outside, folder + "/link");
  const auto deleted = deleteData(folder);
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(outside));
}

TEST_F(ClusterFolderTest, AClusterThatRunsStays) {
  const auto data = DataDir::open(folder);
  EXPECT_EQ(runningProcess(folder), ::getpid());
  const auto deleted = deleteData(folder);
  ASSERT_FALSE(deleted);
  EXPECT_THAT(deleted.error().message, HasSubstr("is in use by another koordctl"));
  EXPECT_TRUE(fs::exists(folder + "/logs"));
}

TEST_F(ClusterFolderTest, ALookAtTheLockDoesNotKeepAClusterFromStarting) {
  {
    const auto data = DataDir::open(folder);
  }
  Fd look(::open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(look.get(), LOCK_SH | LOCK_NB), 0);
  const std::jthread later([&look] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    look.reset();
  });
  const auto data = DataDir::open(folder);
  EXPECT_TRUE(data) << data.error().message;
}

TEST_F(ClusterFolderTest, OtherFilesAreNoPlaceForACluster) {
  EXPECT_TRUE(checkNoOtherFiles(folder));
  EXPECT_TRUE(checkNoOtherFiles(folder + "/new"));
  std::ofstream(folder + "/letter") << "x";
  const auto refused = checkNoOtherFiles(folder);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("letter"));
  const auto data = DataDir::open(folder);  // a cluster's since then
  EXPECT_TRUE(checkNoOtherFiles(folder));
}

TEST_F(ClusterFolderTest, ContainersOfAKilledKoordctlStay) {
  {
    const auto data = DataDir::open(folder);
  }
  EXPECT_EQ(runningProcess(folder), 0);
  fs::create_directories(folder + "/containers/c1");
  const Fd shim(::open((folder + "/containers/c1/lock").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::flock(shim.get(), LOCK_EX), 0);
  const auto deleted = deleteData(folder);
  ASSERT_FALSE(deleted);
  EXPECT_THAT(deleted.error().message, HasSubstr("containers/c1"));
}

TEST_F(ClusterFolderTest, AnInterruptedRestoreIsNotACluster) {
  EXPECT_TRUE(checkRestored(folder));
  fs::create_directories(folder + "/restoring");
  const auto refused = checkRestored(folder);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("koordctl restore"));
  // The database is the last part that a restore moves.
  std::ofstream(folder + "/cluster.db") << "x";
  EXPECT_TRUE(checkRestored(folder));
}

TEST_F(ClusterFolderTest, APortOfBeforeIsPreferredWhileItIsFree) {
  EXPECT_EQ(readPreferredListen(folder), "127.0.0.1:0");
  for (const char* damaged : {"", "nonsense", "127.0.0.1:99999", "0.0.0.0:80", "127.0.0.1:-1"}) {
    std::ofstream(folder + "/listen") << damaged;
    EXPECT_EQ(readPreferredListen(folder), "127.0.0.1:0") << damaged;
  }
}

}  // namespace
}  // namespace koord::cluster
