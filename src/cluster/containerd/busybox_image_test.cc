#include "cluster/containerd/busybox_image.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/json.h"

namespace koord::cluster {
namespace {

struct Entry {
  unsigned mode = 0;
  std::string content;
  std::string target;
};

// Unpacks it as a container runtime does.
std::map<std::string, Entry> unpack(const std::string& tar) {
  std::map<std::string, Entry> entries;
  archive* reader = archive_read_new();
  archive_read_support_format_tar(reader);
  EXPECT_EQ(archive_read_open_memory(reader, tar.data(), tar.size()), ARCHIVE_OK);
  for (archive_entry* header = nullptr; archive_read_next_header(reader, &header) == ARCHIVE_OK;) {
    Entry entry{archive_entry_mode(header),
                std::string(static_cast<std::size_t>(archive_entry_size(header)), 0), ""};
    if (const char* target = archive_entry_symlink(header)) entry.target = target;
    EXPECT_EQ(archive_read_data(reader, entry.content.data(), entry.content.size()),
              static_cast<la_ssize_t>(entry.content.size()));
    entries.emplace(archive_entry_pathname(header), std::move(entry));
  }
  EXPECT_EQ(archive_errno(reader), 0) << archive_error_string(reader);
  archive_read_free(reader);
  return entries;
}

TEST(BusyboxImageTest, BothImagesShareALayerWithTheProgramUnderAllItsNames) {
  const auto tar = busyboxImageTar(std::string(5000, 'x'));
  ASSERT_TRUE(tar) << tar.error().message;
  const auto image = unpack(*tar);
  const auto manifest = parseJson(image.at("manifest.json").content);
  ASSERT_TRUE(manifest);
  ASSERT_EQ(manifest->as_array().size(), 2u);
  const auto& first = manifest->as_array()[0].as_object();
  const auto& second = manifest->as_array()[1].as_object();
  EXPECT_EQ(first.at("RepoTags").as_array()[0].as_string(), kBusyboxImage);
  EXPECT_EQ(second.at("RepoTags").as_array()[0].as_string(), kSandboxImage);
  EXPECT_EQ(first.at("Layers"), second.at("Layers"));
  EXPECT_TRUE(image.contains(std::string(first.at("Config").as_string())));

  const auto layer =
      unpack(image.at(std::string(first.at("Layers").as_array()[0].as_string())).content);
  EXPECT_EQ(layer.at("bin/busybox").content, std::string(5000, 'x'));
  EXPECT_EQ(layer.at("bin/busybox").mode & 0777, 0755u);
  EXPECT_EQ(layer.at("bin/sh").target, "busybox");
  EXPECT_TRUE(S_ISDIR(layer.at("tmp/").mode));
  EXPECT_THAT(layer.at("etc/passwd").content, testing::StartsWith("root:x:0:0:"));
}

TEST(BusyboxImageTest, TheSameProgramGivesTheSameBytes) {
  EXPECT_EQ(busyboxImageTar("x").value(), busyboxImageTar("x").value());
}

}  // namespace
}  // namespace koord::cluster
