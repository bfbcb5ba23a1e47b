#include "cluster/hostnode/log_pump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace koord::cluster {

namespace {

void closeFd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

bool LogPump::open(const std::string& logPath) {
  path_ = logPath;
  if (!openLog()) return false;
  for (auto& stream : streams_) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    stream.reader = ends[0];
    stream.writer = ends[1];
    ::fcntl(stream.reader, F_SETFL, O_NONBLOCK);
  }
  return true;
}

bool LogPump::openLog() {
  const int log = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return false;
  closeFd(log_);
  log_ = log;
  room_ = limits_.bytes - fileSize(path_);
  return true;
}

LogPump::~LogPump() {
  for (auto& stream : streams_) {
    closeFd(stream.reader);
    closeFd(stream.writer);
  }
  closeFd(log_);
}

bool LogPump::attach() const {
  return ::dup2(streams_[0].writer, 1) >= 0 && ::dup2(streams_[1].writer, 2) >= 0;
}

void LogPump::copyUntilEnd(pid_t child) {
  for (auto& stream : streams_) closeFd(stream.writer);
  int ended = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (ended < 0) return;  // the caller that waits for the child drains afterwards
  for (;;) {
    // poll ignores a descriptor of -1.
    pollfd polled[] = {
        {ended, POLLIN, 0}, {streams_[0].reader, POLLIN, 0}, {streams_[1].reader, POLLIN, 0}};
    if (::poll(polled, 3, -1) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (polled[i + 1].revents != 0) copy(streams_[i]);
    if (polled[0].revents != 0) break;
  }
  closeFd(ended);
}

void LogPump::drain() {
  for (auto& stream : streams_) {
    while (copy(stream)) {
    }
    put(stream.lines.finish(machineNow()));
  }
}

bool LogPump::copy(Stream& stream) {
  if (stream.reader < 0) return false;
  char bytes[64 * 1024];
  const ssize_t got = ::read(stream.reader, bytes, sizeof bytes);
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    closeFd(stream.reader);
    return false;
  }
  put(stream.lines.add({bytes, static_cast<std::size_t>(got)}, machineNow()));
  return true;
}

// A full disk loses lines; the container continues.
void LogPump::put(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(log_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  room_ -= static_cast<std::int64_t>(text.size());
  if (room_ <= 0) rotate();
}

// A log that cannot be rotated continues to grow until it is full again.
void LogPump::rotate() {
  if (!rotateLog(path_, limits_) || !openLog()) room_ = limits_.bytes;
}

}  // namespace koord::cluster
