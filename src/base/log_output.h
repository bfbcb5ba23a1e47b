#pragma once

// Where the log goes, as klog's flags have it: standard error, files by severity in a folder, or
// one file; and from which severity on a message goes to standard error, too.

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"

namespace koord::log {

struct Output {
  bool toStderr = true;          // and to no file
  bool alsoToStderr = false;     // everything, beside the files
  int stderrThreshold = 2;       // 0 = messages, 1 = warnings, 2 = errors, 3 = nothing
  bool thresholdAlways = false;  // the threshold holds with toStderr, too
  // Files only without toStderr. One file for all, or, when that is empty, one for each severity,
  // PROGRAM.HOST.USER.log.SEVERITY.DATE-TIME.PID, with a link PROGRAM.SEVERITY to the latest. A
  // message goes to the files of lower severities as well.
  std::string file;
  std::string folder;                       // "" = the one for temporary files
  std::uint64_t fileLimitMegabytes = 1800;  // then `file` is truncated; 0 = never
  bool ownSeverityOnly = false;
  bool plain = false;  // messages without time, severity and program
};

// How a line looks, for spdlog.
const char* patternOf(Format format);

// Messages go there from now on. Fails when a file cannot be written.
Result<> setup(const Options& options, const Output& output);

}  // namespace koord::log
