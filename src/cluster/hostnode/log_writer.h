#pragma once

// Writes a container's log and rotates it when it is full (log_files.h). For the shim: blocks, and
// has no thread of its own.

#include <chrono>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/fd.h"
#include "cluster/hostnode/log_files.h"

namespace koord::cluster {

// The shim is a process without an executor, so it uses the host's clock.
inline WallTime machineNow() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

class LogWriter {
 public:
  explicit LogWriter(LogLimits limits) : limits_(limits) {}

  // Returns false, with errno, if the log cannot be created.
  bool open(const std::string& path);
  // Appends whole lines. A full disk loses them; the container continues.
  void put(const std::string& lines);

 private:
  bool openLog();
  // Removes what follows the last line break in `end`, the end of the log. Returns the length of
  // what stays of it.
  std::size_t keepLines(std::string_view end);
  void rotate();

  LogLimits limits_;
  std::string path_;
  Fd log_;
  std::int64_t room_ = 0;  // until the log is full
};

}  // namespace koord::cluster
