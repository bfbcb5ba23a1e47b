#include "scheduler/engine/grants.h"

#include <algorithm>

namespace koord::scheduler {

GrantPtr Grants::of(LedgerId ledger) const {
  if (!list_) return nullptr;
  const auto it = std::ranges::find(*list_, ledger, &List::value_type::first);
  return it == list_->end() ? nullptr : it->second;
}

GrantPtr Grants::set(LedgerId ledger, GrantPtr grant) {
  if (!list_) {
    if (!grant) return nullptr;
    list_ = std::make_unique<List>();
  }
  const auto it = std::ranges::find(*list_, ledger, &List::value_type::first);
  if (it == list_->end()) {
    if (grant) list_->emplace_back(ledger, std::move(grant));
    return nullptr;
  }
  GrantPtr before = std::exchange(it->second, std::move(grant));
  if (!it->second) list_->erase(it);
  if (list_->empty()) list_.reset();
  return before;
}

}  // namespace koord::scheduler
