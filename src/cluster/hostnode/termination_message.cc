#include "cluster/hostnode/termination_message.h"

#include "base/utf8.h"
#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/log_files.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kMaxFile = 4096;
constexpr std::size_t kMaxLog = 2048;
constexpr std::int64_t kMaxLines = 80;
constexpr std::size_t kLogEnd = 64 << 10;  // enough for either limit

// Removes characters that were cut in the middle.
std::string withoutPartialCharacters(std::string_view text) {
  constexpr std::size_t kLongestCharacter = 4;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  for (std::size_t i = 1; i < kLongestCharacter && !text.empty() && continues(text.front()); ++i)
    text.remove_prefix(1);
  std::size_t begin = text.size();
  while (begin > 0 && text.size() - begin < kLongestCharacter && continues(text[begin - 1]))
    --begin;
  const bool leads = begin > 0 && static_cast<unsigned char>(text[begin - 1]) >= 0xc0;
  if (leads && utf8CharacterAt(text.substr(begin - 1)).length == 0)
    text = text.substr(0, begin - 1);
  return asUtf8(text);
}

}  // namespace

std::string terminationMessage(const std::string& file, const std::string& log, bool fallBack) {
  std::string message = readHead(file, kMaxFile);
  if (message.size() == kMaxFile) return withoutPartialCharacters(message);
  if (!message.empty() || !fallBack) return asUtf8(message);
  LogOptions last;
  last.tailLines = kMaxLines;
  std::string end = readTail(log, kLogEnd);
  // The read begins in the middle of a line.
  if (end.size() == kLogEnd) end.erase(0, end.find('\n') + 1);
  message = selectLog(end, last);
  if (message.size() > kMaxLog) message.erase(0, message.size() - kMaxLog);
  return withoutPartialCharacters(message);
}

}  // namespace koord::cluster
