#include "scheduler/plugins/reservation/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/split.h"
#include "scheduler/plugins/reservation/matcher.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kUnit = " Reservation(s) ";
constexpr std::string_view kTotal = "matched owner total";
constexpr std::string_view kByName = "exactly matches the requested reservation name";
constexpr std::string_view kByNode = "for node reason that ";

// The number in front of " Reservation(s) ", and what comes after it.
struct Item {
  int count = 0;
  std::string_view what;
};
std::optional<Item> itemOf(std::string_view text) {
  Item item;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), item.count);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(kUnit)) return std::nullopt;
  item.what = text.substr(kUnit.size());
  return item;
}

}  // namespace

std::vector<std::string> ReservationCounts::reasons(bool required) const {
  std::vector<std::string> reasons;
  if (ownerMatched == 0 && !required) return reasons;
  const auto add = [&](int count, std::string_view what) {
    if (count > 0) reasons.push_back(fmt::format("{}{}{}", count, kUnit, what));
  };
  add(nameMatched, kByName);
  add(nameUnmatched, "didn't match the requested reservation name");
  add(affinityUnmatched, "didn't match affinity rules");
  add(unschedulable, "is unschedulable");
  add(notExact, "is not exact matched");
  for (const auto& [taint, count] : taints) add(count, "had untolerated taint " + taint);
  for (const auto& [reason, count] : nodeReasons) add(count, std::string(kByNode) + reason);
  reasons.push_back(fmt::format("{}{}{}", ownerMatched, kUnit, kTotal));
  return reasons;
}

std::optional<std::string> reservationLevelMessage(const std::string& message) {
  constexpr std::string_view kPrefix = " nodes are available: ";
  const auto start = message.find(kPrefix);
  if (!message.starts_with("0/") || start == std::string::npos) return std::nullopt;
  std::string details = message.substr(start + kPrefix.size());
  for (auto at = details.find(". "); at != std::string::npos; at = details.find(". ", at))
    details.replace(at, 2, ", ");
  std::optional<int> total;
  std::vector<std::string> names, items, nodes;
  for (std::size_t from = 0; from <= details.size();) {
    const auto comma = std::min(details.find(',', from), details.size());
    const std::string_view text = trim(std::string_view(details).substr(from, comma - from), " .");
    from = comma + 1;
    const auto item = itemOf(text);
    if (!item) continue;
    if (item->what == kTotal) {
      total = item->count;
    } else if (item->what.starts_with(kByNode)) {
      nodes.emplace_back(text);
    } else {
      (item->what == kByName ? names : items).emplace_back(text);
    }
  }
  if (!total) return std::nullopt;
  std::ranges::move(items, std::back_inserter(names));
  std::ranges::move(nodes, std::back_inserter(names));
  return fmt::format("0/{} reservations are available: {}.", *total, fmt::join(names, ", "));
}

}  // namespace koord::scheduler
