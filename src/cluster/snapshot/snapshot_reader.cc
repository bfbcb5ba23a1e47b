#include "cluster/snapshot/snapshot_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/archive.h"

namespace koord::cluster {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kLongestLine = 64 << 20;

// True if each part of the relative path is a plain name.
bool isBelow(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  return std::ranges::none_of(fs::path(path),
                              [](const fs::path& part) { return part == ".." || part == "."; });
}

// True if a snapshot may have such a file at that path below the data folder: it is in one of the
// trees, and the tree itself is a folder.
bool isAllowed(std::string_view path, archive_entry* entry) {
  if (!isBelow(path) || archive_entry_hardlink(entry)) return false;
  const std::string_view tree = path.substr(0, path.find('/'));
  if (std::ranges::find(kSnapshotTrees, tree) == std::end(kSnapshotTrees)) return false;
  const auto type = archive_entry_filetype(entry);
  const bool isTree = path.find_first_not_of('/', tree.size()) == std::string_view::npos;
  return type == AE_IFDIR ||
         (!isTree && (type == AE_IFREG || type == AE_IFIFO || type == AE_IFLNK));
}

class Reader {
 public:
  Reader(std::string path, const SnapshotVisitor& visitor)
      : path_(std::move(path)), visitor_(visitor) {}

  Result<SnapshotCounts> read() {
    if (auto opened = open(); !opened) return fail(std::move(opened.error()));
    archive_entry* entry = nullptr;
    for (bool first = true;; first = false) {
      const int next = archive_read_next_header(archive_.get(), &entry);
      if (next == ARCHIVE_EOF && first) return wrong("is not a snapshot");
      if (next == ARCHIVE_EOF) return wrong("is truncated: it has no end");
      if (next < ARCHIVE_WARN)
        return first ? wrong(fmt::format("is not a snapshot ({})", whatIsWrong()))
                     : wrong(fmt::format("is truncated or damaged ({})", whatIsWrong()));
      const char* raw = archive_entry_pathname(entry);
      const std::string name = raw ? raw : "";
      if (first != (name == kSnapshotHeader)) return wrong("is not a snapshot");
      if (name == kSnapshotEnd) return finish();
      if (auto done = readOne(name, entry); !done) return fail(std::move(done.error()));
    }
  }

 private:
  Result<> open() {
    archive_.reset(archive_read_new());
    archive_read_support_format_tar(archive_.get());
    archive_read_support_filter_zstd(archive_.get());
    if (::access(path_.c_str(), R_OK) != 0) return fail(errnoError("read " + path_, errno));
    // Opening reads the first block.
    if (archive_read_open_filename(archive_.get(), path_.c_str(), kBlockBytes) != ARCHIVE_OK)
      return wrong(fmt::format("is not a snapshot ({})", whatIsWrong()));
    if (visitor_.dataDir.empty()) return {};
    std::error_code failed;
    // Links on the way to the folder are the user's own.
    folder_ = fs::canonical(visitor_.dataDir, failed);
    if (failed) return fail(ErrorCode::Io, visitor_.dataDir + ": " + failed.message());
    disk_.reset(archive_write_disk_new());
    int flags = ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_NO_OVERWRITE;
    if (::geteuid() == 0) flags |= ARCHIVE_EXTRACT_OWNER;
    archive_write_disk_set_options(disk_.get(), flags);
    return {};
  }

  Result<> readOne(const std::string& name, archive_entry* entry) {
    if (name == kSnapshotHeader) {
      auto text = wholeText();
      if (!text) return fail(std::move(text.error()));
      auto header = decodeHeader(*text);
      if (!header) return fail(std::move(header.error()).within(path_));
      digestsNames_ = header->formatVersion >= 2;
      return visitor_.header ? visitor_.header(*header) : Result<>();
    }
    const char* link = archive_entry_symlink(entry);
    if (digestsNames_) digest_.addEntry(name, link ? link : "");
    if (name.starts_with(kSnapshotObjects)) {
      const std::string rest = name.substr(std::string_view(kSnapshotObjects).size());
      const std::string resource = rest.substr(0, rest.find('/'));
      if (!resource.empty()) return readObjects(resource);
    }
    if (name.starts_with(kSnapshotData)) {
      ++counts_.files;
      return readFile(name.substr(std::string_view(kSnapshotData).size()), entry);
    }
    return wrong(fmt::format("has an unknown entry \"{}\"", name));
  }

  // Calls `take` with the next bytes of the entry until its end.
  Result<> eachBlock(const std::function<Result<>(std::string_view)>& take) {
    std::string buffer(kBlockBytes, '\0');
    while (true) {
      const auto got = archive_read_data(archive_.get(), buffer.data(), buffer.size());
      if (got == 0) return {};
      if (got < 0) return wrong(fmt::format("is truncated or damaged ({})", whatIsWrong()));
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      digest_.add(bytes);
      if (auto taken = take(bytes); !taken) return taken;
    }
  }

  Result<std::string> wholeText() {
    std::string text;
    auto read = eachBlock([&](std::string_view bytes) -> Result<> {
      text += bytes;
      return text.size() <= kLongestLine ? Result<>() : wrong("is damaged: an entry is too long");
    });
    if (!read) return fail(std::move(read.error()));
    return text;
  }

  Result<> readObjects(const std::string& resource) {
    std::string rest;
    const auto take = [&](std::string_view bytes) -> Result<> {
      for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
        rest += bytes.substr(0, end);
        bytes.remove_prefix(end + 1);
        ++counts_.objects;
        auto visited = visitor_.object ? visitor_.object(resource, rest) : Result<>();
        rest.clear();
        if (!visited) return visited;
      }
      rest += bytes;
      return rest.size() <= kLongestLine ? Result<>() : wrong("is damaged: an object is too long");
    };
    if (auto read = eachBlock(take); !read) return read;
    return rest.empty() ? Result<>() : wrong("is damaged: an object has no end");
  }

  Result<> readFile(const std::string& name, archive_entry* entry) {
    if (!disk_) return eachBlock([](std::string_view) { return Result<>(); });
    if (!isAllowed(name, entry))
      return wrong(fmt::format("has an entry that is not allowed: \"{}\"", name));
    archive_entry_set_pathname(entry, (folder_ + "/" + name).c_str());
    if (archive_write_header(disk_.get(), entry) < ARCHIVE_WARN) return notWritten();
    auto copied = eachBlock([this](std::string_view bytes) -> Result<> {
      return archive_write_data(disk_.get(), bytes.data(), bytes.size()) < 0 ? notWritten()
                                                                             : Result<>();
    });
    if (!copied) return copied;
    return archive_write_finish_entry(disk_.get()) < ARCHIVE_WARN ? notWritten() : Result<>();
  }

  Result<SnapshotCounts> finish() {
    const std::string digest = digest_.hex();  // without this entry
    std::string text(kBlockBytes, '\0');
    const auto got = archive_read_data(archive_.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto end = parseJson(text);
    const auto count = [&](std::string_view key) {
      const auto* value = end ? find(*end, key) : nullptr;
      return value ? wholeNumber(*value).value_or(-1) : -1;
    };
    if (count("objects") != static_cast<std::int64_t>(counts_.objects) ||
        count("files") != static_cast<std::int64_t>(counts_.files) ||
        textAt(*end, "sha256") != digest)
      return wrong("is damaged: its contents do not match their checksum");
    // Sets the times of folders.
    if (disk_ && archive_write_close(disk_.get()) < ARCHIVE_WARN) return fail(notWritten().error());
    return counts_;
  }

  std::string whatIsWrong() const {
    const char* why = archive_error_string(archive_.get());
    return why ? why : "unknown error";
  }
  std::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorCode::Invalid, fmt::format("{}: the file {}", path_, what));
  }
  Result<> notWritten() const {
    const char* why = archive_error_string(disk_.get());
    return fail(ErrorCode::Io, fmt::format("write below {}: {}", folder_, why ? why : ""));
  }

  std::string path_;
  const SnapshotVisitor& visitor_;
  std::string folder_;
  ArchiveReader archive_;
  ArchiveWriter disk_;
  SnapshotDigest digest_;
  bool digestsNames_ = false;
  SnapshotCounts counts_;
};

}  // namespace

Result<SnapshotCounts> readSnapshot(const std::string& path, const SnapshotVisitor& visitor) {
  return Reader(path, visitor).read();
}

}  // namespace koord::cluster
