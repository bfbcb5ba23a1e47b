#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "apiserver/store/storage.h"
#include "base/file.h"
#include "base/json.h"
#include "koordctl/snapshot/take.h"

namespace koord::koordctl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

class RestoreTest : public testing::Test {
 protected:
  RestoreTest() {
    std::string path = (fs::temp_directory_path() / "restore-XXXXXX").string();
    folder = ::mkdtemp(path.data());
    file = folder + "/a.snap";
    before = fs::current_path();
    fs::current_path(folder);
  }
  ~RestoreTest() override {
    fs::current_path(before);
    fs::remove_all(folder);
  }

  // A cluster in the folder "a" with a volume of that version, of which a snapshot is taken. The
  // last change is 3.
  void take(const std::string& dataDir, const char* version = "3") const {
    fs::create_directories("a/volumes/v");
    std::ofstream("a/volumes/v/file") << "text";
    auto storage = apiserver::openSqlite("a/cluster.db");
    ASSERT_TRUE(storage) << storage.error().message;
    auto entry = std::make_shared<apiserver::Entry>();
    entry->text = R"({"metadata":{"name":"v","resourceVersion":")" + std::string(version) +
                  R"("},"spec":{"local":{"path":")" + folder + R"(/a/volumes/v"}}})";
    const apiserver::Change change{3, "persistentvolumes", apiserver::makeKey("", "v"), entry};
    ASSERT_TRUE((*storage)->apply({&change, 1}));
    (*storage).reset();
    const auto taken = takeComplete(dataDir, file, {});
    ASSERT_TRUE(taken) << taken.error().message;
  }
  static std::string pathOfVolume(const std::string& dataDir) {
    const auto storage = apiserver::openSqlite(dataDir + "/cluster.db");
    const auto state = (*storage)->load();
    if (!state || state->objects.size() != 1) return "no volume";
    return std::string(textAt(*parseJson(state->objects.front().text), "spec", "local", "path"));
  }

  std::string folder, file;
  fs::path before;
};

TEST_F(RestoreTest, AFailureLeavesTheFilesOfAUser) {
  std::ofstream(file) << "no snapshot";
  fs::create_directories("home/letters");
  std::ofstream("home/letters/one") << "dear";
  const auto restored = restore(file, "home");
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message, AllOf(HasSubstr("home"), HasSubstr("letters")));
  EXPECT_EQ(readFile("home/letters/one").value_or(""), "dear");
  EXPECT_EQ(std::distance(fs::directory_iterator("home"), {}), 1);
}

TEST_F(RestoreTest, AFailureLeavesNothingOfANewFolder) {
  std::ofstream(file) << "no snapshot";
  EXPECT_FALSE(restore(file, "new"));
  EXPECT_FALSE(fs::exists("new"));
}

TEST_F(RestoreTest, VolumesMoveHoweverTheFoldersAreNamed) {
  take("./a/");
  const auto restored = restore(file, "b/");
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(pathOfVolume("b"), folder + "/b/volumes/v");
  EXPECT_EQ(readFile("b/volumes/v/file").value_or(""), "text");
}

TEST_F(RestoreTest, TheObjectsAreForTheirOwner) {
  take("a");
  fs::create_directories("b");  // by a user, who lets others look into it
  ::chmod("b", 0755);
  ASSERT_TRUE(restore(file, "b"));
  struct stat info{};
  ASSERT_EQ(::stat("b/cluster.db", &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(RestoreTest, VersionsAfterTheSnapshotAreRefused) {
  for (const char* version : {"4", "18446744073709551615", "0", "x"}) {
    fs::remove_all("a");
    fs::remove(file);
    take("a", version);
    const auto restored = restore(file, "b");
    ASSERT_FALSE(restored) << version;
    EXPECT_THAT(restored.error().message, AllOf(HasSubstr(file), HasSubstr("resourceVersion")));
    EXPECT_FALSE(fs::exists("b"));
  }
}

}  // namespace
}  // namespace koord::koordctl
