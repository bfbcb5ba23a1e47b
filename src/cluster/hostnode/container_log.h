#pragma once

// Logs of containers as CRI runtimes keep them, a line of a stream each: "<time> stdout F <text>";
// P instead of F says that the rest of the line follows. Files without such prefixes are read as
// they are.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace koord::cluster {

// What is asked for of a log: the query parameters of pods/log and /containerLogs.
struct LogOptions {
  bool previous = false;  // of the run before
  bool follow = false;
  bool timestamps = false;                 // before each line
  std::optional<std::int64_t> tailLines;   // the last so many
  std::optional<std::int64_t> limitBytes;  // and no more than that
  std::optional<WallTime> since;           // only lines from then on
};
// `valueOf` answers "" for a parameter that is absent. Errors name the parameter.
Result<LogOptions> readLogOptions(const std::function<std::string(std::string_view)>& valueOf,
                                  WallTime now);

// The part of a log that is asked for, as its reader sees it.
std::string selectLog(std::string_view log, const LogOptions& options);
// The same of a log that is read piece by piece, each of whole lines. tailLines are the reader's.
class LogSelector {
 public:
  explicit LogSelector(const LogOptions& options);
  std::string select(std::string_view lines);
  bool full() const { return left_ == 0; }  // limitBytes are reached

 private:
  bool timestamps_;
  std::optional<WallTime> since_;
  std::optional<std::size_t> left_;
  bool inLine_ = false;  // a part of this line has been seen
  bool skipped_ = false;
};
// The length of the whole lines at the beginning of what was read of a log that grows.
std::size_t wholeLines(std::string_view text);

// Turns what comes out of a container into lines of a log.
class LogLines {
 public:
  // `stream`: stdout or stderr.
  explicit LogLines(std::string_view stream) : stream_(stream) {}

  // What is to be written to the log for these bytes; an unfinished line waits for its end.
  std::string add(std::string_view bytes, WallTime now);
  // The end of the stream: what is left is a line, too.
  std::string finish(WallTime now);

 private:
  std::string line(WallTime now, char tag, std::string_view text) const;

  std::string stream_;
  std::string rest_;
};

}  // namespace koord::cluster
