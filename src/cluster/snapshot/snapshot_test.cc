#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "base/archive.h"
#include "base/file.h"
#include "cluster/snapshot/snapshot_reader.h"
#include "cluster/snapshot/snapshot_writer.h"

namespace koord::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    std::string path = (fs::temp_directory_path() / "snapshot-XXXXXX").string();
    folder = ::mkdtemp(path.data());
    file = folder + "/a.snap";
    data = folder + "/data";
    fs::create_directories(data + "/pki");
    std::ofstream(data + "/pki/ca.key") << "key";
    ::chmod((data + "/pki/ca.key").c_str(), 0600);
    fs::create_symlink("ca.key", data + "/pki/link");
  }
  ~SnapshotTest() override { fs::remove_all(folder); }

  // A snapshot of two kinds and the files.
  void write() const {
    auto writer = SnapshotWriter::create(file, {.cluster = "a", .resourceVersion = "7"});
    ASSERT_TRUE(writer) << writer.error().message;
    for (const char* text : {R"({"a":1})", R"({"a":2})"})
      ASSERT_TRUE((*writer)->addObject("pods", text));
    ASSERT_TRUE((*writer)->addObject("leases.coordination.k8s.io", R"({"b":1})"));
    ASSERT_TRUE((*writer)->addTree(data, "pki"));
    ASSERT_TRUE((*writer)->addTree(data, "volumes"));  // there are none
    const auto finished = (*writer)->finish();
    ASSERT_TRUE(finished) << finished.error().message;
  }
  std::string problem() const {
    const auto read = readSnapshot(file, {});
    return read ? "" : read.error().message;
  }

  std::string folder, file, data;
};

TEST_F(SnapshotTest, WhatIsWrittenIsRead) {
  write();
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_FALSE(fs::exists(file + ".partial"));
  std::vector<std::string> seen;
  SnapshotVisitor visitor;
  visitor.dataDir = folder + "/restored";
  fs::create_directories(visitor.dataDir);
  visitor.header = [&](const SnapshotHeader& header) -> Result<> {
    seen.push_back(header.cluster + header.resourceVersion);
    return {};
  };
  visitor.object = [&](std::string_view resource, std::string_view text) -> Result<> {
    seen.push_back(std::string(resource) + std::string(text));
    return {};
  };
  const auto read = readSnapshot(file, visitor);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->objects, 3U);
  EXPECT_EQ(read->files, 3U);
  EXPECT_THAT(seen, ElementsAre("a7", R"(pods{"a":1})", R"(pods{"a":2})",
                                R"(leases.coordination.k8s.io{"b":1})"));
  EXPECT_EQ(readFile(visitor.dataDir + "/pki/ca.key").value_or(""), "key");
  EXPECT_EQ(fs::read_symlink(visitor.dataDir + "/pki/link"), "ca.key");
}

TEST_F(SnapshotTest, ManyObjectsAreSeveralParts) {
  const std::string text = "\"" + std::string(1 << 20, 'x') + "\"";
  auto writer = SnapshotWriter::create(file, {});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*writer)->addObject("pods", text));
  ASSERT_TRUE((*writer)->finish());
  int seen = 0;
  SnapshotVisitor visitor;
  visitor.object = [&](std::string_view, std::string_view read) -> Result<> {
    seen += read == text ? 1 : 0;
    return {};
  };
  ASSERT_TRUE(readSnapshot(file, visitor));
  EXPECT_EQ(seen, 10);
}

TEST_F(SnapshotTest, AnExistingFileStays) {
  std::ofstream(file) << "mine";
  const auto writer = SnapshotWriter::create(file, {});
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr(file));
  EXPECT_EQ(readFile(file).value_or(""), "mine");
}

TEST_F(SnapshotTest, AFileThatAppearsMeanwhileStays) {
  auto writer = SnapshotWriter::create(file, {});
  std::ofstream(file) << "mine";
  EXPECT_FALSE((*writer)->finish());
  EXPECT_EQ(readFile(file).value_or(""), "mine");
}

TEST_F(SnapshotTest, OneWriterAtATime) {
  auto first = SnapshotWriter::create(file, {});
  ASSERT_TRUE((*first)->addObject("pods", "{}"));
  {
    const auto second = SnapshotWriter::create(file, {});
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("another koordctl writes"));
  }
  ASSERT_TRUE((*first)->finish());
  EXPECT_EQ(problem(), "");
}

TEST_F(SnapshotTest, TheFileOfAKilledWriterIsReplaced) {
  std::ofstream(file + ".partial") << std::string(1 << 20, 'x');
  write();
  EXPECT_EQ(problem(), "");
}

TEST_F(SnapshotTest, NamesOfFilesAreBytes) {
  const std::string below = data + "/volumes/";
  const std::string deep = std::string(200, 'd') + "/" + std::string(200, 'd');
  fs::create_directories(below + deep);
  const std::vector<std::string> names = {"\u00fc", "\xff\xfe", "new\nline", "a 'b' \"c\"",
                                          deep + "/\u00fc"};
  for (const auto& name : names) std::ofstream(below + name) << name;
  fs::create_symlink("\xff\xfe", below + "link");
  auto writer = SnapshotWriter::create(file, {});
  const auto added = (*writer)->addTree(data, "volumes");
  ASSERT_TRUE(added) << added.error().message;
  ASSERT_TRUE((*writer)->finish());
  SnapshotVisitor visitor;
  visitor.dataDir = folder + "/restored";
  fs::create_directories(visitor.dataDir);
  const auto read = readSnapshot(file, visitor);
  ASSERT_TRUE(read) << read.error().message;
  for (const auto& name : names)
    EXPECT_EQ(readFile(visitor.dataDir + "/volumes/" + name).value_or(""), name);
  EXPECT_EQ(fs::read_symlink(visitor.dataDir + "/volumes/link"), "\xff\xfe");
}

TEST_F(SnapshotTest, DevicesAreLeftOut) {
  if (::mknod((data + "/pki/null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    GTEST_SKIP() << "this user cannot make devices";
  write();
  SnapshotVisitor visitor;
  visitor.dataDir = folder + "/restored";
  fs::create_directories(visitor.dataDir);
  const auto read = readSnapshot(file, visitor);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(fs::exists(visitor.dataDir + "/pki/null"));
}

TEST_F(SnapshotTest, WithoutAnEndNothingIsLeft) {
  {
    auto writer = SnapshotWriter::create(file, {});
  }
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(file + ".partial"));
}

TEST_F(SnapshotTest, EachTruncationAndEachFlippedByteIsFound) {
  write();
  const std::string whole = readFile(file).value();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    std::ofstream(file, std::ios::trunc) << whole.substr(0, size);
    EXPECT_THAT(problem(), HasSubstr(file)) << size;
  }
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(file, std::ios::trunc) << damaged;
    std::vector<std::string> seen;
    SnapshotVisitor visitor;
    visitor.object = [&](std::string_view resource, std::string_view text) -> Result<> {
      seen.push_back(std::string(resource) + std::string(text));
      return {};
    };
    // A byte without a meaning, as a bit of the frame that readers skip, may change.
    if (readSnapshot(file, visitor))
      EXPECT_THAT(seen, ElementsAre(R"(pods{"a":1})", R"(pods{"a":2})",
                                    R"(leases.coordination.k8s.io{"b":1})"))
          << at;
  }
}

TEST_F(SnapshotTest, OtherFilesAreNoSnapshots) {
  for (const char* text : {"", "hello", "{\"kind\":\"Snapshot\"}"}) {
    std::ofstream(file, std::ios::trunc) << text;
    EXPECT_THAT(problem(), HasSubstr("is not a snapshot")) << text;
  }
  fs::remove(file);
  EXPECT_THAT(problem(), HasSubstr(file));
}

TEST_F(SnapshotTest, ALaterFormatIsRefused) {
  EXPECT_TRUE(decodeHeader(encodeHeader({})));
  for (const char* version : {"3", "0", "\"2\"", "null"}) {
    const auto later = decodeHeader(
        fmt::format(R"({{"kind":"Snapshot","formatVersion":{},"scope":"complete"}})", version));
    ASSERT_FALSE(later) << version;
    EXPECT_THAT(later.error().message, HasSubstr("formatVersion is ")) << version;
  }
}

// The entries of the snapshot are changed and written as a new archive.
class ChangedSnapshotTest : public SnapshotTest {
 protected:
  struct Entry {
    std::string name, text;
  };
  using Entries = std::vector<Entry>;

  Entries entries() const {
    Entries all;
    const ArchiveReader archive(archive_read_new());
    archive_read_support_filter_zstd(archive.get());
    archive_read_support_format_tar(archive.get());
    EXPECT_EQ(archive_read_open_filename(archive.get(), file.c_str(), 4096), ARCHIVE_OK);
    for (archive_entry* entry = nullptr;
         archive_read_next_header(archive.get(), &entry) == ARCHIVE_OK;) {
      if (archive_entry_filetype(entry) != AE_IFREG) continue;
      std::string text(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
      archive_read_data(archive.get(), text.data(), text.size());
      all.push_back({archive_entry_pathname(entry), std::move(text)});
    }
    return all;
  }
  void rewrite(const Entries& all) const {
    const ArchiveWriter archive(archive_write_new());
    archive_write_set_format_pax_restricted(archive.get());
    archive_write_add_filter_zstd(archive.get());
    ASSERT_EQ(archive_write_open_filename(archive.get(), file.c_str()), ARCHIVE_OK);
    for (const auto& [name, text] : all) {
      const ArchiveEntry entry(archive_entry_new());
      archive_entry_set_pathname(entry.get(), name.c_str());
      archive_entry_set_filetype(entry.get(), AE_IFREG);
      archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
      archive_write_header(archive.get(), entry.get());
      archive_write_data(archive.get(), text.data(), text.size());
    }
    archive_write_close(archive.get());
  }
  void writeObject() const {
    auto writer = SnapshotWriter::create(file, {});
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->addObject("pods", R"({"a":1})"));
    ASSERT_TRUE((*writer)->finish());
  }
};

TEST_F(ChangedSnapshotTest, AChangedNameOfAnEntryIsFound) {
  writeObject();
  Entries all = entries();
  ASSERT_EQ(all.size(), 3U);
  rewrite(all);
  EXPECT_EQ(problem(), "");
  all[1].name = "objects/cats/00000.json";
  rewrite(all);
  EXPECT_THAT(problem(), HasSubstr("do not match their checksum"));
}

TEST_F(ChangedSnapshotTest, TheFirstFormatIsRead) {
  writeObject();
  Entries all = entries();
  ASSERT_EQ(all.size(), 3U);
  const auto at = all[0].text.find("\"formatVersion\": 2");
  ASSERT_NE(at, std::string::npos) << all[0].text;
  all[0].text[at + 17] = '1';
  SnapshotDigest digest;
  digest.add(all[0].text);
  digest.add(all[1].text);
  all[2].text = fmt::format(R"({{"objects":1,"files":0,"sha256":"{}"}})", digest.hex());
  rewrite(all);
  EXPECT_EQ(problem(), "");
  all[1].text = "{\"a\":2}\n";
  rewrite(all);
  EXPECT_THAT(problem(), HasSubstr("do not match their checksum"));
}

TEST_F(SnapshotTest, PathsThatLeadOutAreRefused) {
  // The writer takes any name, as a hostile writer would.
  auto writer = SnapshotWriter::create(file, {});
  std::ofstream(folder + "/outside") << "x";
  ASSERT_TRUE((*writer)->addTree(data, "../outside"));
  ASSERT_TRUE((*writer)->finish());
  SnapshotVisitor visitor;
  visitor.dataDir = folder + "/restored/deep";
  fs::create_directories(visitor.dataDir);
  const auto read = readSnapshot(file, visitor);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("not allowed"));
  EXPECT_FALSE(fs::exists(folder + "/restored/outside"));
}

TEST_F(SnapshotTest, OnlyTheFoldersOfASnapshotAreWritten) {
  std::ofstream(data + "/cluster.db-journal") << "x";
  fs::create_symlink("/tmp", data + "/volumes");
  for (const char* tree : {"cluster.db-journal", "volumes"}) {
    fs::remove(file);
    auto writer = SnapshotWriter::create(file, {});
    ASSERT_TRUE((*writer)->addTree(data, tree));
    ASSERT_TRUE((*writer)->finish());
    SnapshotVisitor visitor;
    visitor.dataDir = folder + "/restored";
    fs::create_directories(visitor.dataDir);
    const auto read = readSnapshot(file, visitor);
    ASSERT_FALSE(read) << tree;
    EXPECT_THAT(read.error().message, HasSubstr("not allowed"));
    EXPECT_TRUE(fs::is_empty(visitor.dataDir));
  }
}

TEST_F(SnapshotTest, NothingIsWrittenThroughALink) {
  fs::create_directories(data + "/pki/a");
  std::ofstream(data + "/pki/a/b") << "x";
  auto writer = SnapshotWriter::create(file, {});
  fs::create_directories(folder + "/other");
  fs::create_symlink(folder + "/other", data + "/pki/c");
  ASSERT_TRUE((*writer)->addTree(data, "pki/c"));
  fs::remove(data + "/pki/c");
  fs::rename(data + "/pki/a", data + "/pki/c");
  ASSERT_TRUE((*writer)->addTree(data, "pki/c/b"));
  ASSERT_TRUE((*writer)->finish());
  SnapshotVisitor visitor;
  visitor.dataDir = folder + "/restored";
  fs::create_directories(visitor.dataDir);
  EXPECT_FALSE(readSnapshot(file, visitor));
  EXPECT_FALSE(fs::exists(folder + "/other/b"));
}

}  // namespace
}  // namespace koord::cluster
