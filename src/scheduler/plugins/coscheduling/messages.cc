#include "scheduler/plugins/coscheduling/messages.h"

#include <fmt/format.h>

#include <iterator>

namespace koord::scheduler::messages {

namespace {

// Go's %v of a list of texts.
std::string listed(const std::vector<std::string>& texts) {
  return fmt::format("[{}]", fmt::join(texts, " "));
}

// Go's %q, for the characters in our texts.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
      case '\\':
        out += '\\';
        out += c;
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace

std::string noGang(const std::string& gang, const PodInfo& pod) {
  return fmt::format("can't find gang, gangName: {}, podName: {}", gang, pod.key());
}

std::string notInitialised(const std::string& gang, const PodInfo& pod) {
  return fmt::format("gang has not init, gangName: {}, podName: {}", gang, pod.key());
}

std::string basicCheck(const std::vector<std::string>& group, const GroupShortage& gangShortages,
                       const std::string& gang, const PodInfo& pod) {
  std::vector<std::string> parts;
  if (!gangShortages.absent.empty())
    parts.push_back(fmt::format("memberGangs {} doesn't exists", listed(gangShortages.absent)));
  if (!gangShortages.notInitialised.empty())
    parts.push_back(
        fmt::format("memberGangs {} has not init", listed(gangShortages.notInitialised)));
  if (gangShortages.incomplete)
    parts.push_back(fmt::format("memberGangs {} child pod not collect enough", listed(group)));
  return fmt::format("gangGroup {} basic check: {}, current gang: {}, podName: {}", listed(group),
                     fmt::join(parts, ", "), gang, pod.key());
}

std::string rejected(const std::string& groupId, const PodInfo& member, const std::string& reason,
                     std::size_t waiting) {
  return fmt::format(
      "GangGroup {} gets rejected due to member Pod {} is unschedulable with reason {}, "
      "alreadyWaitForBound: {}",
      quoted(groupId), quoted(member.key()), quoted(reason), waiting);
}

}  // namespace koord::scheduler::messages
