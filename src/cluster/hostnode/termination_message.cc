#include "cluster/hostnode/termination_message.h"

#include "base/file.h"
#include "cluster/hostnode/container_log.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kMaxFile = 4096;
constexpr std::size_t kMaxLog = 2048;
constexpr std::int64_t kMaxLines = 80;
}  // namespace

std::string terminationMessage(const std::string& file, const std::string& log, bool fallBack) {
  std::string message = readFile(file).value_or("");
  if (message.size() > kMaxFile) message.resize(kMaxFile);
  if (!message.empty() || !fallBack) return message;
  LogOptions last;
  last.tailLines = kMaxLines;
  message = selectLog(readFile(log).value_or(""), last);
  if (message.size() > kMaxLog) message.erase(0, message.size() - kMaxLog);
  return message;
}

}  // namespace koord::cluster
