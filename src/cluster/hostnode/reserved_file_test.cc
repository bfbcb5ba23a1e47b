#include "cluster/hostnode/reserved_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/file.h"

namespace koord::cluster {
namespace {

class ReservedFileTest : public testing::Test {
 protected:
  ReservedFileTest() { std::filesystem::create_directories(folder_); }
  ~ReservedFileTest() override { std::filesystem::remove_all(folder_); }
  bool isReserved() const { return std::filesystem::exists(path_ + ".reserved"); }

  const std::string folder_ = testing::TempDir() + "reserved-file-" + std::to_string(::getpid());
  const std::string path_ = folder_ + "/exit.json";
};

TEST_F(ReservedFileTest, TheSpaceIsReservedUntilTheTextIsPut) {
  auto file = ReservedFile::reserve(path_, 100);
  ASSERT_TRUE(file);
  EXPECT_EQ(readFile(path_ + ".reserved")->size(), 100U);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(file->put("text"));
  EXPECT_EQ(readFile(path_), "text");
  EXPECT_FALSE(isReserved());
}

TEST_F(ReservedFileTest, SpaceThatNothingWasPutIntoIsFreed) {
  {
    auto file = ReservedFile::reserve(path_, 100);
    ASSERT_TRUE(file);
    const ReservedFile moved = *std::move(file);
    EXPECT_TRUE(isReserved());
  }
  EXPECT_FALSE(isReserved());
}

TEST_F(ReservedFileTest, AForkedChildDoesNotFreeTheSpace) {
  std::optional<Result<ReservedFile>> file = ReservedFile::reserve(path_, 100);
  ASSERT_TRUE(*file);
  const pid_t child = ::fork();
  if (child == 0) {
    file.reset();
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(isReserved());
  EXPECT_TRUE((*file)->put("text"));
  EXPECT_EQ(readFile(path_), "text");
}

}  // namespace
}  // namespace koord::cluster
