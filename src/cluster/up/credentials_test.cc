#include "cluster/up/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;

class SigningKeysTest : public testing::Test {
 protected:
  SigningKeysTest() : folder_(testing::TempDir() + "koord-keys-" + net::randomToken(8)) {}
  ~SigningKeysTest() override { std::filesystem::remove_all(folder_); }

  std::vector<net::SigningKey> open(WallTime now) {
    auto keys = Credentials::signingKeys(folder_, now);
    EXPECT_TRUE(keys) << keys.error().message;
    return keys ? *std::move(keys) : std::vector<net::SigningKey>{};
  }
  std::filesystem::path keyFolder() const { return folder_ + "/pki/service-accounts"; }

  const WallTime start_ = WallTime(std::chrono::hours(24 * 365 * 50));
  std::string folder_;
};

TEST_F(SigningKeysTest, aKeyIsKeptAndOnlyItsOwnerReadsIt) {
  const auto first = open(start_);
  ASSERT_EQ(first.size(), 1u);
  const auto again = open(start_ + std::chrono::hours(24 * 89));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id(), first[0].id());
  for (const auto& file : std::filesystem::directory_iterator(keyFolder())) {
    struct stat status{};
    ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
}

TEST_F(SigningKeysTest, anOldKeySignsNoMoreAndGoesWhenItsTokensHaveExpired) {
  const auto first = open(start_);
  const auto second = open(start_ + std::chrono::hours(24 * 91));
  ASSERT_EQ(second.size(), 2u);
  EXPECT_NE(second[0].id(), first[0].id());
  EXPECT_EQ(second[1].id(), first[0].id());
  // 90 days of signing, and the year that a token may live.
  const auto later = open(start_ + std::chrono::hours(24 * (90 + 367)));
  for (const auto& key : later) EXPECT_NE(key.id(), first[0].id());
}

TEST_F(SigningKeysTest, aDamagedKeyIsNamed) {
  open(start_);
  std::filesystem::path file;
  for (const auto& one : std::filesystem::directory_iterator(keyFolder())) file = one.path();
  std::filesystem::resize_file(file, 10);
  const auto keys = Credentials::signingKeys(folder_, start_);
  ASSERT_FALSE(keys);
  EXPECT_NE(keys.error().message.find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace koord::cluster
