#include "cluster/up/merged_kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/yaml.h"
#include "cluster/up/data_dir.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;

constexpr const char* kOwn = R"(apiVersion: v1
kind: Config
clusters: [{name: koordctl, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: koordctl-admin, user: {client-key-data: QQ==}}]
contexts: [{name: koordctl, context: {cluster: koordctl, user: koordctl-admin}}]
current-context: koordctl
)";
constexpr const char* kOther = R"(apiVersion: v1
kind: Config
preferences: {colors: true}
clusters: [{name: work, cluster: {server: "https://work:6443"}}]
users: [{name: me, user: {token: "0123"}}]
contexts: [{name: work, context: {cluster: work, user: me, namespace: "1"}}]
current-context: work
)";

class MergedKubeconfigTest : public testing::Test {
 protected:
  MergedKubeconfigTest() {
    std::string path = (std::filesystem::temp_directory_path() / "merged-XXXXXX").string();
    folder = ::mkdtemp(path.data());
    file = folder + "/kube/config";
  }
  ~MergedKubeconfigTest() override { std::filesystem::remove_all(folder); }
  void write(const std::string& text) const {
    std::filesystem::create_directories(folder + "/kube");
    std::ofstream(file) << text;
  }
  json::value content() const { return parseYaml(readFile(file).value_or("")).value(); }
  unsigned mode() const {
    struct stat info{};
    ::stat(file.c_str(), &info);
    return info.st_mode & 0777;
  }

  std::string folder;
  std::string file;
};

TEST_F(MergedKubeconfigTest, AFileIsMadeForItsOwnerOnly) {
  auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(mode(), 0600U);
  EXPECT_EQ(textAt(content(), "current-context"), "a");
  const json::value all = content();
  const auto& context = find(all, "contexts")->get_array().at(0);
  EXPECT_EQ(textAt(context, "name"), "a");
  EXPECT_EQ(textAt(context, "context", "user"), "a");
}

TEST_F(MergedKubeconfigTest, EverythingElseStaysAndComesBack) {
  write(kOther);
  ::chmod(file.c_str(), 0640);
  const json::value before = content();
  auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(find(content(), "clusters")->get_array().size(), 2U);
  EXPECT_EQ(textAt(content(), "current-context"), "a");
  EXPECT_EQ(mode(), 0640U);
  ASSERT_TRUE(merged->remove());
  EXPECT_EQ(content(), before);
}

TEST_F(MergedKubeconfigTest, TheChoiceOfTheUserMeanwhileStays) {
  write(kOther);
  auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  auto text = readFile(file).value();
  const std::string current = "current-context: a";
  text.replace(text.find(current), current.size(), "current-context: work");
  write(text);
  ASSERT_TRUE(merged->remove());
  EXPECT_EQ(textAt(content(), "current-context"), "work");
}

TEST_F(MergedKubeconfigTest, WhatAKilledKoordctlLeftIsReplaced) {
  write(kOther);
  ASSERT_TRUE(MergedKubeconfig::add(file, kOwn, "a", folder));
  auto again = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(find(content(), "clusters")->get_array().size(), 2U);
  ASSERT_TRUE(removeMerged(file, "a"));
  EXPECT_EQ(find(content(), "clusters")->get_array().size(), 1U);
  EXPECT_EQ(find(content(), "users")->get_array().size(), 1U);
}

TEST_F(MergedKubeconfigTest, TheContextBeforeIsBackAfterAKill) {
  write(kOther);
  ASSERT_TRUE(MergedKubeconfig::add(file, kOwn, "a", folder));
  auto again = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(again->remove());
  EXPECT_EQ(textAt(content(), "current-context"), "work");
}

TEST_F(MergedKubeconfigTest, TheContextBeforeIsBackInWhateverOrderClustersStop) {
  write(kOther);
  auto a = MergedKubeconfig::add(file, kOwn, "a", folder + "/a");
  auto b = MergedKubeconfig::add(file, kOwn, "b", folder + "/b");
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(a->remove());
  EXPECT_EQ(textAt(content(), "current-context"), "b");
  ASSERT_TRUE(b->remove());
  EXPECT_EQ(textAt(content(), "current-context"), "work");
}

TEST_F(MergedKubeconfigTest, ARunningClusterKeepsItsContext) {
  const auto running = DataDir::open(folder + "/running");
  ASSERT_TRUE(running);
  auto merged = MergedKubeconfig::add(file, kOwn, "a", running->path());
  ASSERT_TRUE(merged) << merged.error().message;
  const auto refused = MergedKubeconfig::add(file, kOwn, "a", folder + "/other");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(running->path()));
}

TEST_F(MergedKubeconfigTest, TheContextOfAnotherClusterStays) {
  auto stopped = MergedKubeconfig::add(file, kOwn, "a", folder + "/stopped");
  auto other = MergedKubeconfig::add(file, kOwn, "a", folder + "/other");
  ASSERT_TRUE(stopped && other);
  ASSERT_TRUE(stopped->remove());
  EXPECT_EQ(textAt(content(), "current-context"), "a");
}

TEST_F(MergedKubeconfigTest, EntriesOfOthersAreNotTouched) {
  write(kOther);
  const auto before = readFile(file).value();
  const auto merged = MergedKubeconfig::add(file, kOwn, "work", folder);
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr(file));
  EXPECT_THAT(merged.error().message, HasSubstr("\"work\""));
  ASSERT_TRUE(removeMerged(file, "work"));
  EXPECT_EQ(readFile(file).value(), before);
  EXPECT_FALSE(std::filesystem::exists(file + ".lock"));
}

TEST_F(MergedKubeconfigTest, ADamagedFileIsNamedAndStays) {
  write("clusters: [");
  const auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("kubeconfig " + file));
  EXPECT_EQ(readFile(file).value(), "clusters: [");
}

TEST_F(MergedKubeconfigTest, ALinkStaysALink) {
  std::filesystem::create_directories(folder + "/kube");
  std::ofstream(folder + "/real") << kOther;
  std::filesystem::create_symlink(folder + "/real", file);
  auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_TRUE(std::filesystem::is_symlink(file));
  EXPECT_THAT(readFile(folder + "/real").value(), HasSubstr("current-context: a"));
}

TEST_F(MergedKubeconfigTest, ALinkToNoFileStaysALink) {
  std::filesystem::create_directories(folder + "/kube");
  std::filesystem::create_symlink("other", folder + "/real");
  std::filesystem::create_symlink("../real", file);
  auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_TRUE(std::filesystem::is_symlink(file));
  EXPECT_THAT(readFile(folder + "/other").value_or(""), HasSubstr("current-context: a"));
}

TEST_F(MergedKubeconfigTest, AFileThatTheUserMayNotWriteStays) {
  write(kOther);
  ::chmod(file.c_str(), 0400);
  const bool root = ::geteuid() == 0;  // root may write everything
  if (root) {
    for (const auto& path : {folder, folder + "/kube", file})
      ASSERT_EQ(::chown(path.c_str(), 65'534, 65'534), 0);
    ASSERT_EQ(::seteuid(65'534), 0);
  }
  const auto merged = MergedKubeconfig::add(file, kOwn, "a", folder);
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr(file));
  EXPECT_EQ(readFile(file).value_or(""), kOther);
}

}  // namespace
}  // namespace koord::cluster
