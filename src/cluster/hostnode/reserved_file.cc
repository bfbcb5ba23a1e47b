#include "cluster/hostnode/reserved_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace koord::cluster {

namespace {

Result<> writeFrom(int fd, std::string_view text, const std::string& path) {
  for (off_t at = 0; !text.empty();) {
    const ssize_t put = ::pwrite(fd, text.data(), text.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(errnoError("write " + path, errno));
    text.remove_prefix(static_cast<std::size_t>(put));
    at += put;
  }
  return {};
}

}  // namespace

ReservedFile::ReservedFile(std::string path, Fd file)
    : path_(std::move(path)), file_(std::move(file)), owner_(::getpid()) {}

ReservedFile::~ReservedFile() {
  if (file_ && ::getpid() == owner_) ::unlink(reservedPath().c_str());
}

Result<ReservedFile> ReservedFile::reserve(std::string path, std::size_t bytes) {
  const std::string reservedPath = path + ".reserved";
  Fd file(::open(reservedPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail(errnoError("reserve " + path, errno));
  // Written and not only allocated: not every file system supports allocation.
  auto filled = writeFrom(file.get(), std::string(bytes, ' '), reservedPath);
  if (filled && ::fsync(file.get()) != 0) filled = fail(errnoError("reserve " + path, errno));
  if (!filled) {
    ::unlink(reservedPath.c_str());
    return fail(std::move(filled.error()));
  }
  return ReservedFile(std::move(path), std::move(file));
}

Result<> ReservedFile::put(std::string_view text) {
  if (auto written = writeFrom(file_.get(), text, path_); !written) return written;
  if (::ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0 || ::fsync(file_.get()) != 0 ||
      std::rename(reservedPath().c_str(), path_.c_str()) != 0)
    return fail(errnoError("write " + path_, errno));
  file_.reset();
  return {};
}

}  // namespace koord::cluster
