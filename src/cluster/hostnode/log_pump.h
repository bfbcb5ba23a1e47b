#pragma once

// Copies a container's standard output and error to its log and rotates it when it is full
// (log_files.h). For the shim: blocks, and has no thread of its own.

#include <sys/types.h>

#include <array>
#include <string>

#include "base/fd.h"
#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/log_files.h"

namespace koord::cluster {

// The shim is a process without an executor, so it uses the host's clock.
inline WallTime machineNow() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

class LogPump {
 public:
  // Returns false, with errno, if the log or the pipes cannot be created.
  bool open(const std::string& logPath);
  explicit LogPump(LogLimits limits = {}) : limits_(limits) {}

  // In the child: makes the pipes its standard output and error. Returns false with errno.
  bool attach() const;
  // In the parent, which must be the only reader. Copies until the child has ended; the caller
  // waits for it.
  void copyUntilEnd(pid_t child);
  // Copies the content of the pipes, and unfinished lines.
  void drain();

 private:
  struct Stream {
    explicit Stream(const char* name) : lines(name) {}
    LogLines lines;
    Fd reader;
    Fd writer;
  };
  // Returns false at the end of the stream, or if there is nothing now.
  bool copy(Stream& stream);
  void put(const std::string& text);
  bool openLog();
  void rotate();

  std::array<Stream, 2> streams_{Stream("stdout"), Stream("stderr")};
  LogLimits limits_;
  std::string path_;
  Fd log_;
  std::int64_t room_ = 0;  // until the log is full
};

}  // namespace koord::cluster
