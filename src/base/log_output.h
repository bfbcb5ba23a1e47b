#pragma once

// The destination of the log, with klog's options: standard error, files by severity in a folder,
// or one file; and the severity from which messages also go to standard error.

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"

namespace koord::log {

struct Output {
  bool toStderr = true;          // only to standard error, not to files
  bool alsoToStderr = false;     // all messages, in addition to the files
  int stderrThreshold = 2;       // 0 = messages, 1 = warnings, 2 = errors, 3 = none
  bool thresholdAlways = false;  // the threshold applies with toStderr, too
  // Files are written only without toStderr. One file for all messages, or, if `file` is empty, one
  // for each severity, PROGRAM.HOST.USER.log.SEVERITY.DATE-TIME.PID, with a link PROGRAM.SEVERITY
  // to the latest. The files of lower severities get a message, too.
  std::string file;
  std::string folder;                       // "" = the folder for temporary files
  std::uint64_t fileLimitMegabytes = 1800;  // size at which `file` is truncated; 0 = no limit
  bool ownSeverityOnly = false;
  bool plain = false;  // messages without time, severity and program
};

// The line format, as a pattern of spdlog.
const char* patternOf(Format format);

// Sends messages to `output` from this call on. Fails if a file cannot be written.
Result<> setup(const Options& options, const Output& output);

}  // namespace koord::log
