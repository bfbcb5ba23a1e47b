#include "console/feed/change_log.h"

#include <algorithm>

namespace koord::console {

namespace {

constexpr std::size_t kMostDeletions = 20'000;

}  // namespace

bool ChangeLog::put(Row row) {
  const auto known = numbers_.find(row.key);
  if (known != numbers_.end()) {
    const Entry& entry = entries_.at(known->second);
    if (!entry.deleted && entry.row.columns == row.columns) return false;
  }
  store(std::move(row), false);
  return true;
}

bool ChangeLog::erase(const std::string& key) {
  const auto known = numbers_.find(key);
  if (known == numbers_.end() || entries_.at(known->second).deleted) return false;
  Row row;
  row.key = key;
  store(std::move(row), true);
  dropOldDeletions();
  return true;
}

void ChangeLog::store(Row row, bool deleted) {
  const auto [place, added] = numbers_.try_emplace(row.key, 0);
  if (!added) {
    const auto before = entries_.find(place->second);
    if (before->second.deleted) --deletions_;
    entries_.erase(before);
  }
  if (deleted) ++deletions_;
  place->second = ++latest_;
  entries_.emplace_hint(entries_.end(), latest_, Entry{std::move(row), deleted});
}

void ChangeLog::dropOldDeletions() {
  if (deletions_ <= kMostDeletions) return;
  // Half of them, so that this is rare.
  for (auto entry = entries_.begin(); entry != entries_.end() && deletions_ > kMostDeletions / 2;) {
    if (!entry->second.deleted) {
      ++entry;
      continue;
    }
    forgotten_ = entry->first;
    numbers_.erase(entry->second.row.key);
    entry = entries_.erase(entry);
    --deletions_;
  }
}

ChangeLog::Changes ChangeLog::after(Number number, std::size_t limit) const {
  Changes changes;
  changes.reset = number == 0 || number < forgotten_ || number > latest_;
  changes.upTo = changes.reset ? 0 : number;
  auto entry = entries_.upper_bound(changes.upTo);
  for (std::size_t taken = 0; entry != entries_.end() && taken < limit; ++entry) {
    changes.upTo = entry->first;
    if (!entry->second.deleted) {
      changes.rows.push_back(&entry->second.row);
    } else if (!changes.reset) {
      changes.gone.push_back(entry->second.row.key);
    }
    ++taken;
  }
  changes.more = entry != entries_.end();
  // An empty log has nothing to number; the reader asks from the latest change on.
  if (!changes.more) changes.upTo = latest_;
  return changes;
}

const Row* ChangeLog::find(const std::string& key) const {
  const auto known = numbers_.find(key);
  if (known == numbers_.end()) return nullptr;
  const Entry& entry = entries_.at(known->second);
  return entry.deleted ? nullptr : &entry.row;
}

std::vector<std::string> ChangeLog::keys() const {
  std::vector<std::string> keys;
  keys.reserve(size());
  forEach([&](const Row& row) { keys.push_back(row.key); });
  return keys;
}

}  // namespace koord::console
