#include "koordlet/system/small_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/split.h"

namespace koord::koordlet {
namespace {

constexpr std::size_t kLargeFile = 64 * 1024;  // no buffer for it is kept

Error fileError(std::string_view verb, const std::string& path, int errnum) {
  return errnoError(fmt::format("{} {}", verb, path), errnum == ENODEV ? ENOENT : errnum);
}

// Reads into the string's memory without clearing it first: its capacity is that of the largest
// file so far, and most files are a few bytes.
Result<> readWhole(const std::string& path, std::string& content, bool shortIsLast) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(fileError("open", path, errno));
  std::size_t used = 0;
  int errnum = 0;
  bool more = true;
  const auto fill = [&](char* data, std::size_t size) {
    while (more && used < size) {
      const ssize_t n = ::read(fd, data + used, size - used);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) errnum = errno;
      used += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      more = n > 0 && !(shortIsLast && used < size);
    }
    return used;
  };
  for (std::size_t size = std::max<std::size_t>(content.capacity(), 4096); more; size *= 2)
    content.resize_and_overwrite(size, fill);
  ::close(fd);
  if (errnum != 0) {
    content.clear();
    return fail(fileError("read", path, errnum));
  }
  while (used > 0 && content[used - 1] == '\n') --used;
  content.resize(used);
  return {};
}

}  // namespace

Result<> readSmallFile(const std::string& path, std::string& content) {
  return readWhole(path, content, false);
}

Result<> readValueFile(const std::string& path, std::string& content) {
  return readWhole(path, content, true);
}

Result<std::string> readSmallFile(const std::string& path) {
  // Most files have a few bytes; without this buffer each read would allocate a page.
  static thread_local std::string buffer;
  auto read = readSmallFile(path, buffer);
  if (!read) return fail(std::move(read.error()));
  if (buffer.size() > kLargeFile) return std::exchange(buffer, {});
  return buffer;
}

namespace {

Result<> writeOnce(const std::string& path, std::string_view text, int flag) {
  const int fd = ::open(path.c_str(), O_WRONLY | flag | O_CLOEXEC);
  if (fd < 0) return fail(fileError("open", path, errno));
  const ssize_t n = ::write(fd, text.data(), text.size());
  const int errnum = errno;
  ::close(fd);
  if (n < 0)
    return fail(
        fileError(fmt::format("write '{}' to", text), path, errnum == ESRCH ? ENOENT : errnum));
  if (static_cast<std::size_t>(n) != text.size())
    return fail(ErrorCode::Io,
                fmt::format("write '{}' to {}: only {} bytes were written", text, path, n));
  return {};
}

}  // namespace

Result<> writeSmallFile(const std::string& path, std::string_view text) {
  return writeOnce(path, text, O_TRUNC);
}

Result<> appendSmallFile(const std::string& path, std::string_view text) {
  // A regular file, of a test, keeps one id a line; the kernel's files take a newline as well.
  return writeOnce(path, std::string(text) + '\n', O_APPEND);
}

Result<> replaceFile(const std::string& path, std::string_view text) {
  const std::string half = path + ".tmp";
  const int fd = ::open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return fail(fileError("open", half, errno));
  int problem = 0;
  for (std::size_t done = 0; done < text.size() && problem == 0;) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n == 0) problem = ENOSPC;
    if (n < 0 && errno != EINTR) problem = errno;
  }
  ::close(fd);
  if (problem == 0 && ::rename(half.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return {};
  ::unlink(half.c_str());
  return fail(fileError("write", path, problem));
}

bool pathExists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// Uses the system call directly, because opendir() allocates 32 KiB for each directory.
void forEachDir(const std::string& path, const std::function<void(std::string_view name)>& fn) {
  alignas(dirent64) static thread_local char buffer[32 * 1024];
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  for (;;) {
    const ssize_t size = ::getdents64(fd, buffer, sizeof buffer);
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      bool isDir = entry->d_type == DT_DIR;
      if (entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK) {
        struct stat info{};
        isDir = ::fstatat(fd, entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
      }
      if (isDir) fn(name);
    }
  }
  ::close(fd);
}

std::vector<std::string> listDirs(const std::string& path) {
  std::vector<std::string> names;
  forEachDir(path, [&](std::string_view name) { names.emplace_back(name); });
  std::ranges::sort(names);
  return names;
}

Result<std::int64_t> parseInt(std::string_view text) {
  const std::string_view digits = trim(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    return fail(ErrorCode::Invalid, fmt::format("'{}' is not an integer", text));
  return value;
}

std::string_view takeWord(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    text = {};
    return {};
  }
  const auto end = std::min(text.find_first_of(kBlanks, first), text.size());
  const std::string_view word = text.substr(first, end - first);
  text.remove_prefix(end);
  return word;
}

}  // namespace koord::koordlet
