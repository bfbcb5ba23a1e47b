#include "scheduler/plugins/elasticquota/accounts.h"

#include <algorithm>

#include "model/well_known.h"
#include "scheduler/plugins/elasticquota/quota_object.h"

namespace koord::scheduler {

namespace {

void count(NamedTree::Priorities& priorities, std::int32_t priority, std::int64_t pods) {
  const auto it = priorities.try_emplace(priority, 0).first;
  it->second += pods;
  if (it->second == 0) priorities.erase(it);
}

}  // namespace

NamedTree::NamedTree(std::string treeId, const quota::QuotaTree::Settings& settings)
    : id(std::move(treeId)), quotas_(std::string(model::kRootQuota), settings) {}

std::optional<std::int32_t> NamedTree::lowestPriority(quota::QuotaId quota) {
  settle();
  const auto it = priorities_.find(quota);
  if (it == priorities_.end() || it->second.empty()) return std::nullopt;
  return it->second.begin()->first;
}

// Only for quotas that are apart is the limit the max, whatever other quotas request.
bool NamedTree::unlimited(quota::QuotaId quota) const {
  const quota::Spec& spec = quotas_.spec(quota);
  return spec.apart &&
         std::ranges::all_of(spec.max, [](const auto& max) { return max.second == kNoLimit; });
}

void NamedTree::settleAccounts() {
  for (Account* account : due_) {
    account->waits = false;
    for (auto& [resource, due] : account->due) {
      const quota::Change change = std::exchange(due, {});
      if (change.isZero()) continue;
      if (const auto column = quotas_.columnOf(resource))
        quotas_.addSelf(account->place.quota, *column, change);
    }
    for (const auto& [priority, pods] : account->duePriorities) {
      if (pods == 0) continue;
      count(account->priorities, priority, pods);
      count(priorities_[account->place.quota], priority, pods);
    }
    account->duePriorities.clear();
  }
  due_.clear();
}

bool Account::idle() const {
  return std::ranges::all_of(sums, [](const auto& sum) { return sum.second.isZero(); });
}

Account* Accounts::find(bool labelled, std::string_view text) const {
  const Map& map = labelled ? byLabel_ : byNamespace_;
  const auto it = map.find(text);
  return it == map.end() ? nullptr : it->second.get();
}

const AccountPtr& Accounts::get(bool labelled, std::string_view text, bool& fresh) {
  const Map& map = labelled ? byLabel_ : byNamespace_;
  const auto known = map.find(text);
  fresh = known == map.end();
  if (!fresh) return known->second;
  if (size() >= sweepAt_) sweep();
  auto account = std::make_shared<Account>();
  account->text = text;
  account->labelled = labelled;
  return (labelled ? byLabel_ : byNamespace_).emplace(account->text, account).first->second;
}

void Accounts::sweep() {
  if (onSweep) onSweep();
  for (Map* map : {&byLabel_, &byNamespace_}) {
    erase_if(*map, [](const auto& entry) {
      Account& account = *entry.second;
      if (entry.second.use_count() > 1 || !account.idle()) return false;
      if (account.place) account.place.tree->settle();
      return true;
    });
  }
  sweepAt_ = std::max<std::size_t>(1024, 2 * size());
}

void Accounts::noteDue(Account& account) {
  account.waits = true;
  account.place.tree->due_.push_back(&account);
}

void Accounts::add(Account& account, std::span<const PodAmount> amounts,
                   quota::Sum quota::Change::* sum, int sign) {
  if (amounts.empty()) return;
  const auto addTo = [&](ResourceSums& sums) {
    for (const auto& [resource, amount] : amounts) sums[resource].*sum += sign * amount;
  };
  addTo(account.sums);
  if (!account.place) return;
  addTo(account.due);
  markDue(account);
}

void Accounts::add(Account& account, ResourceId resource, const quota::Change& change) {
  account.sums[resource] += change;
  if (!account.place) return;
  account.due[resource] += change;
  markDue(account);
}

void Accounts::addPriority(Account& account, std::int32_t priority, std::int64_t pods) {
  if (!account.place) return count(account.priorities, priority, pods);
  auto& due = account.duePriorities;
  const auto known =
      std::ranges::find(due, priority, &std::pair<std::int32_t, std::int64_t>::first);
  if (known == due.end()) {
    due.emplace_back(priority, pods);
  } else {
    known->second += pods;
  }
  markDue(account);
}

void Accounts::move(Account& account, const Place& to) {
  if (account.place == to) return;
  if (account.place) account.place.tree->settle();
  for (const auto& [priority, pods] : account.priorities) {
    if (account.place) count(account.place.tree->priorities_[account.place.quota], priority, -pods);
    if (to) count(to.tree->priorities_[to.quota], priority, pods);
  }
  for (const auto& [resource, sum] : account.sums) {
    if (sum.isZero()) continue;
    if (account.place) {
      quota::QuotaTree& quotas = account.place.quotas();
      if (const auto column = quotas.columnOf(resource)) {
        quotas.addSelf(account.place.quota, *column,
                       {-sum.request, -sum.used, -sum.fixedRequest, -sum.fixedUsed});
      }
    }
    if (to)
      if (const auto column = to.quotas().columnOf(resource))
        to.quotas().addSelf(to.quota, *column, sum);
  }
  account.place = to;
}

}  // namespace koord::scheduler
