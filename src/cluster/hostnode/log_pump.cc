#include "cluster/hostnode/log_pump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace koord::cluster {

bool LogPump::open(const std::string& logPath) {
  path_ = logPath;
  if (!openLog()) return false;
  for (auto& stream : streams_) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    stream.reader.reset(ends[0]);
    stream.writer.reset(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  return true;
}

bool LogPump::openLog() {
  Fd log(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return false;
  log_ = std::move(log);
  room_ = limits_.bytes - fileSize(path_);
  return true;
}

bool LogPump::attach() const {
  return ::dup2(streams_[0].writer.get(), 1) >= 0 && ::dup2(streams_[1].writer.get(), 2) >= 0;
}

void LogPump::copyUntilEnd(pid_t child) {
  for (auto& stream : streams_) stream.writer.reset();
  const Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!ended) return;  // the caller that waits for the child drains afterwards
  for (;;) {
    // poll ignores a descriptor of -1.
    pollfd polled[] = {{ended.get(), POLLIN, 0},
                       {streams_[0].reader.get(), POLLIN, 0},
                       {streams_[1].reader.get(), POLLIN, 0}};
    if (::poll(polled, 3, -1) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (polled[i + 1].revents != 0) copy(streams_[i]);
    if (polled[0].revents != 0) break;
  }
}

void LogPump::drain() {
  for (auto& stream : streams_) {
    while (copy(stream)) {
    }
    put(stream.lines.finish(machineNow()));
  }
}

bool LogPump::copy(Stream& stream) {
  if (!stream.reader) return false;
  char bytes[64 * 1024];
  const ssize_t got = ::read(stream.reader.get(), bytes, sizeof bytes);
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    stream.reader.reset();
    return false;
  }
  put(stream.lines.add({bytes, static_cast<std::size_t>(got)}, machineNow()));
  return true;
}

// A full disk loses lines; the container continues.
void LogPump::put(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(log_.get(), text.data() + done, text.size() - done);
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
