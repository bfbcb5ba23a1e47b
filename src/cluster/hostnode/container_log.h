#pragma once

// Container logs in CRI format, one line per line of a stream: "<time> stdout F <text>"; P instead
// of F means that the rest of the line follows. Files without such prefixes are read unchanged.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace koord::cluster {

// The query parameters of pods/log and /containerLogs.
struct LogOptions {
  bool previous = false;  // of the previous run
  bool follow = false;
  bool timestamps = false;                 // before each line
  std::optional<std::int64_t> tailLines;   // the last N lines
  std::optional<std::int64_t> limitBytes;  // at most this many bytes
  std::optional<WallTime> since;           // only lines since this time
};
// `valueOf` returns "" for an absent parameter. Errors name the parameter.
Result<LogOptions> readLogOptions(const std::function<std::string(std::string_view)>& valueOf,
                                  WallTime now);

// The requested part of a log, in the reader's form.
std::string selectLog(std::string_view log, const LogOptions& options);
// The same for a log that is read in pieces of whole lines. The caller handles tailLines.
class LogSelector {
 public:
  explicit LogSelector(const LogOptions& options);
  std::string select(std::string_view lines);
  bool full() const { return left_ == 0; }  // limitBytes is reached

 private:
  bool timestamps_;
  std::optional<WallTime> since_;
  std::optional<std::size_t> left_;
  bool inLine_ = false;  // inside of a line
  bool skipped_ = false;
};
// The length of the whole lines at the beginning of a read from a growing log.
std::size_t wholeLines(std::string_view text);

// Converts a container's output to log lines.
class LogLines {
 public:
  // `stream`: stdout or stderr.
  explicit LogLines(std::string_view stream) : stream_(stream) {}

  // Returns the log lines for these bytes; an unfinished line waits for its end.
  std::string add(std::string_view bytes, WallTime now);
  // Returns the rest at the end of the stream, as a line.
  std::string finish(WallTime now);

 private:
  std::string line(WallTime now, char tag, std::string_view text) const;

  std::string stream_;
  std::string rest_;
};

}  // namespace koord::cluster
