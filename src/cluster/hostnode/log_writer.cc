#include "cluster/hostnode/log_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace koord::cluster {

bool LogWriter::open(const std::string& path) {
  path_ = path;
  return openLog();
}

bool LogWriter::openLog() {
  Fd log(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return false;
  log_ = std::move(log);
  room_ = limits_.bytes - fileSize(path_);
  return true;
}

void LogWriter::put(const std::string& lines) {
  std::size_t done = 0;
  while (done < lines.size()) {
    const ssize_t wrote = ::write(log_.get(), lines.data() + done, lines.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      done = keepLines(std::string_view(lines).substr(0, done));
      break;
    }
    done += static_cast<std::size_t>(wrote);
  }
  room_ -= static_cast<std::int64_t>(done);
  if (room_ <= 0) rotate();
}

std::size_t LogWriter::keepLines(std::string_view end) {
  const std::size_t whole = end.rfind('\n') + 1;
  if (whole == end.size()) return whole;
  const auto size = fileSize(path_) - static_cast<std::int64_t>(end.size() - whole);
  return ::ftruncate(log_.get(), size) == 0 ? whole : end.size();
}

// A log that cannot be rotated continues to grow until it is full again.
void LogWriter::rotate() {
  if (!rotateLog(path_, limits_) || !openLog()) room_ = limits_.bytes;
}

}  // namespace koord::cluster
