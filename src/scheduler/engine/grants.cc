#include "scheduler/engine/grants.h"

#include <algorithm>

namespace koord::scheduler {

const GrantPtr Grants::kNone;

GrantPtr Grants::set(LedgerId ledger, GrantPtr grant) {
  const auto it =
      std::ranges::find_if(list_, [&](const auto& each) { return each.first == ledger; });
  if (it == list_.end()) {
    if (!grant) return nullptr;
    add(ledger, std::move(grant));
    return nullptr;
  }
  GrantPtr before = std::exchange(it->second, std::move(grant));
  if (!it->second) list_.erase(it);
  if (list_.empty()) list_ = {};
  return before;
}

}  // namespace koord::scheduler
