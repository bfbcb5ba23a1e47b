#include "scheduler/plugins/elasticquota/accounts.h"

#include <algorithm>

#include "model/well_known.h"

namespace koord::scheduler {

NamedTree::NamedTree(std::string treeId, const quota::QuotaTree::Settings& settings)
    : id(std::move(treeId)), quotas(std::string(model::kRootQuota), settings) {}

std::optional<std::int32_t> NamedTree::lowestPriority(quota::QuotaId quota) const {
  const auto it = priorities.find(quota);
  if (it == priorities.end() || it->second.empty()) return std::nullopt;
  return it->second.begin()->first;
}

namespace {

void count(NamedTree::Priorities& priorities, std::int32_t priority, std::int64_t pods) {
  const auto it = priorities.try_emplace(priority, 0).first;
  it->second += pods;
  if (it->second == 0) priorities.erase(it);
}

}  // namespace

bool Account::idle() const {
  return std::ranges::all_of(sums, [](const quota::Change& sum) { return sum.isZero(); });
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
  for (Map* map : {&byLabel_, &byNamespace_}) {
    erase_if(*map, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->idle();
    });
  }
  sweepAt_ = std::max<std::size_t>(1024, 2 * size());
}

void Accounts::add(Account& account, ResourceId resource, const quota::Change& change) {
  if (resource >= account.sums.size()) account.sums.resize(resource + 1);
  quota::Change& sum = account.sums[resource];
  sum.request += change.request;
  sum.used += change.used;
  sum.fixedRequest += change.fixedRequest;
  sum.fixedUsed += change.fixedUsed;
  if (!account.place) return;
  quota::QuotaTree& quotas = account.place.quotas();
  if (const auto column = quotas.columnOf(resource))
    quotas.addSelf(account.place.quota, *column, change);
}

void Accounts::addPriority(Account& account, std::int32_t priority, std::int64_t pods) {
  count(account.priorities, priority, pods);
  if (account.place) count(account.place.tree->priorities[account.place.quota], priority, pods);
}

void Accounts::move(Account& account, const Place& to) {
  if (account.place == to) return;
  for (const auto& [priority, pods] : account.priorities) {
    if (account.place) count(account.place.tree->priorities[account.place.quota], priority, -pods);
    if (to) count(to.tree->priorities[to.quota], priority, pods);
  }
  for (ResourceId resource = 0; resource < account.sums.size(); ++resource) {
    const quota::Change& sum = account.sums[resource];
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
