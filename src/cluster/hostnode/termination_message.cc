#include "cluster/hostnode/termination_message.h"

#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/log_files.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kMaxFile = 4096;
constexpr std::size_t kMaxLog = 2048;
constexpr std::int64_t kMaxLines = 80;
constexpr std::size_t kLogEnd = 64 << 10;  // has either of these, whatever is before the lines
}  // namespace

std::string terminationMessage(const std::string& file, const std::string& log, bool fallBack) {
  std::string message = readHead(file, kMaxFile);
  if (!message.empty() || !fallBack) return message;
  LogOptions last;
  last.tailLines = kMaxLines;
  std::string end = readTail(log, kLogEnd);
  // It begins within a line.
  if (end.size() == kLogEnd) end.erase(0, end.find('\n') + 1);
  message = selectLog(end, last);
  if (message.size() > kMaxLog) message.erase(0, message.size() - kMaxLog);
  return message;
}

}  // namespace koord::cluster
