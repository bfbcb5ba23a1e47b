#include "cluster/snapshot/snapshot_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/archive.h"
#include "base/fd.h"

namespace koord::cluster {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPartBytes = 4 << 20;
constexpr std::size_t kReadBytes = 256 << 10;

std::unexpected<Error> replaced(const std::string& path) {
  return fail(ErrorCode::Conflict,
              path + ": changed while it was read: pause the cluster first ('koordctl pause')");
}

}  // namespace

// The tar archive under its temporary name.
class SnapshotWriter::Archive {
 public:
  explicit Archive(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") {}
  ~Archive() {
    if (fd_) ::unlink(partial_.c_str());
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  Result<> open() {
    if (::access(path_.c_str(), F_OK) == 0)
      return fail(ErrorCode::AlreadyExists, path_ + ": there is such a file already");
    if (auto created = createPartial(); !created) return created;
    archive_.reset(archive_write_new());
    const bool ready = archive_write_set_format_pax_restricted(archive_.get()) == ARCHIVE_OK &&
                       archive_write_add_filter_zstd(archive_.get()) == ARCHIVE_OK &&
                       archive_write_open_fd(archive_.get(), fd_.get()) == ARCHIVE_OK;
    return ready ? Result<>() : wrong();
  }

  Result<> addText(const std::string& name, std::string_view text) {
    const ArchiveEntry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    if (auto begun = begin(entry.get()); !begun) return begun;
    return append(text);
  }

  Result<> begin(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    const char* link = archive_entry_symlink(entry);
    if (name != std::string_view(kSnapshotHeader)) digest_.addEntry(name, link ? link : "");
    // libarchive warns of names that are not ASCII, and stores their bytes.
    return archive_write_header(archive_.get(), entry) >= ARCHIVE_WARN ? Result<>() : wrong();
  }
  Result<> append(std::string_view bytes) {
    if (archive_write_data(archive_.get(), bytes.data(), bytes.size()) < 0) return wrong();
    digest_.add(bytes);
    return {};
  }

  std::string digest() { return digest_.hex(); }

  Result<> close() {
    if (archive_write_close(archive_.get()) != ARCHIVE_OK) return wrong();
    if (::fsync(fd_.get()) != 0) return fail(errnoError("write " + partial_, errno));
    // File systems without this flag answer EINVAL.
    int renamed =
        ::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
    if (renamed != 0 && errno == EINVAL) renamed = ::rename(partial_.c_str(), path_.c_str());
    if (renamed != 0) return fail(errnoError("rename " + partial_ + " to " + path_, errno));
    fd_ = Fd();
    return {};
  }

 private:
  // The writer of the temporary file holds its lock. A file without one is of a koordctl that was
  // killed.
  Result<> createPartial() {
    const Fd left(::open(partial_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const bool written = left && ::flock(left.get(), LOCK_EX | LOCK_NB) != 0;
    if (!written) {
      ::unlink(partial_.c_str());
      fd_ = Fd(::open(partial_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
      if (fd_ && ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return {};
      if (!fd_ && errno != EEXIST) return fail(errnoError("write " + partial_, errno));
      fd_ = Fd();  // the file is that of the other writer now
    }
    return fail(ErrorCode::Conflict, partial_ + ": another koordctl writes this file");
  }

  std::unexpected<Error> wrong() const {
    // libarchive's text does not say what the system said, for example that the disk is full.
    if (const int failed = archive_errno(archive_.get()); failed > 0)
      return fail(errnoError("write " + partial_, failed));
    const char* why = archive_error_string(archive_.get());
    return fail(ErrorCode::Io, fmt::format("write {}: {}", partial_, why ? why : "unknown error"));
  }

  std::string path_;
  std::string partial_;
  Fd fd_;  // empty when the file has its final name
  ArchiveWriter archive_;
  SnapshotDigest digest_;
};

SnapshotWriter::SnapshotWriter(std::unique_ptr<Archive> archive) : archive_(std::move(archive)) {}

SnapshotWriter::~SnapshotWriter() = default;

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::create(const std::string& path,
                                                               const SnapshotHeader& header) {
  auto archive = std::make_unique<Archive>(path);
  if (auto opened = archive->open(); !opened) return fail(std::move(opened.error()));
  if (auto added = archive->addText(kSnapshotHeader, encodeHeader(header)); !added)
    return fail(std::move(added.error()));
  return std::unique_ptr<SnapshotWriter>(new SnapshotWriter(std::move(archive)));
}

Result<> SnapshotWriter::addObject(const std::string& resource, std::string_view text) {
  if (resource != resource_) {
    if (auto flushed = flushObjects(); !flushed) return flushed;
    resource_ = resource;
    part_ = 0;
  }
  ++objects_;
  lines_ += text;
  lines_ += '\n';
  return lines_.size() < kPartBytes ? Result<>() : flushObjects();
}

Result<> SnapshotWriter::flushObjects() {
  if (lines_.empty()) return {};
  auto added = archive_->addText(
      fmt::format("{}{}/{:05}.json", kSnapshotObjects, resource_, part_++), lines_);
  lines_.clear();
  return added;
}

Result<> SnapshotWriter::addTree(const std::string& root, const std::string& path) {
  if (auto flushed = flushObjects(); !flushed) return flushed;
  std::error_code failed;
  const auto status = fs::symlink_status(root + "/" + path, failed);
  const auto type = status.type();
  if (type != fs::file_type::regular && type != fs::file_type::directory &&
      type != fs::file_type::symlink && type != fs::file_type::fifo)
    return {};
  if (auto added = addOne(root, path); !added) return added;
  if (!fs::is_directory(status)) return {};
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root + "/" + path, failed))
    names.push_back(entry.path().filename());
  if (failed == std::errc::no_such_file_or_directory) return {};  // removed meanwhile
  if (failed) return fail(ErrorCode::Io, fmt::format("{}/{}: {}", root, path, failed.message()));
  std::ranges::sort(names);
  for (const auto& name : names)
    if (auto added = addTree(root, path + "/" + name); !added) return added;
  return {};
}

Result<> SnapshotWriter::addOne(const std::string& root, const std::string& path) {
  const std::string full = root + "/" + path;
  // Opened first and without following a link: a file may be replaced meanwhile.
  struct stat info{};
  if (::lstat(full.c_str(), &info) != 0)
    return errno == ENOENT ? Result<>() : fail(errnoError("read " + full, errno));
  Fd file;
  if (S_ISREG(info.st_mode)) {
    file = Fd(::open(full.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file && errno == ENOENT) return {};  // removed meanwhile
    if (!file || ::fstat(file.get(), &info) != 0) return fail(errnoError("read " + full, errno));
    if (!S_ISREG(info.st_mode)) return replaced(full);
  }
  const ArchiveEntry entry(archive_entry_new());
  archive_entry_copy_stat(entry.get(), &info);
  archive_entry_set_pathname(entry.get(), (kSnapshotData + path).c_str());
  if (S_ISLNK(info.st_mode)) {
    std::error_code failed;
    archive_entry_set_symlink(entry.get(), fs::read_symlink(full, failed).c_str());
    archive_entry_set_size(entry.get(), 0);
    if (failed) return fail(ErrorCode::Io, full + ": " + failed.message());
  }
  if (!S_ISREG(info.st_mode)) archive_entry_set_size(entry.get(), 0);
  if (auto begun = archive_->begin(entry.get()); !begun) return begun;
  ++files_;
  std::string buffer(kReadBytes, '\0');
  // A file that grows is stored up to its size of before; a file that shrinks is an error.
  for (auto left = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) : 0; left > 0;) {
    const auto got = ::read(file.get(), buffer.data(), std::min(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError("read " + full, errno));
    if (got == 0) return replaced(full);
    if (auto put = archive_->append({buffer.data(), static_cast<std::size_t>(got)}); !put)
      return put;
    left -= static_cast<std::size_t>(got);
  }
  return {};
}

Result<> SnapshotWriter::finish() {
  if (auto flushed = flushObjects(); !flushed) return flushed;
  const json::value end =
      json::object{{"objects", objects_}, {"files", files_}, {"sha256", archive_->digest()}};
  if (auto added = archive_->addText(kSnapshotEnd, toJson(end) + "\n"); !added) return added;
  return archive_->close();
}

std::uint64_t SnapshotWriter::objects() const {
  return objects_;
}

std::uint64_t SnapshotWriter::files() const {
  return files_;
}

}  // namespace koord::cluster
