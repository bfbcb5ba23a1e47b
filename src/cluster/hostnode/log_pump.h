#pragma once

// Carries what a container writes from its standard output and error into its log, which is put
// aside when it is full (log_files.h). For the shim: it blocks, and has no thread of its own.

#include <sys/types.h>

#include <array>
#include <string>

#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/log_files.h"

namespace koord::cluster {

// The shim is a process of its own, without an executor: its time is the machine's.
inline WallTime machineNow() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

class LogPump {
 public:
  // False, with errno, when the log or the pipes cannot be made.
  bool open(const std::string& logPath);
  explicit LogPump(LogLimits limits = {}) : limits_(limits) {}
  LogPump(const LogPump&) = delete;
  LogPump& operator=(const LogPump&) = delete;
  ~LogPump();

  // In the child: the pipes become its standard output and error. False with errno.
  bool attach() const;
  // In the parent, from when on it reads alone. Copies until the child has ended; it is left to
  // wait for.
  void copyUntilEnd(pid_t child);
  // What is in the pipes now, and lines without an end.
  void drain();

 private:
  struct Stream {
    LogLines lines;
    int reader = -1;
    int writer = -1;
  };
  // False at the end of the stream, or when there is nothing now.
  bool copy(Stream& stream);
  void put(const std::string& text);
  bool openLog();
  void rotate();

  std::array<Stream, 2> streams_{Stream{LogLines("stdout")}, Stream{LogLines("stderr")}};
  LogLimits limits_;
  std::string path_;
  int log_ = -1;
  std::int64_t room_ = 0;  // until the log is full
};

}  // namespace koord::cluster
