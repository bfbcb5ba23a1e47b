#include "apiserver/quota/quotas.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/objects/edit.h"
#include "apiserver/quota/extended_usage.h"
#include "apiserver/server/target.h"

// A ledger: for each quota the charge of every object, and the sums. A write calls admit() to check
// whether the object's additional charge fits, in the same turn in which it is stored; the change
// of the store then moves the charge. So the sums are always those of the stored objects, a
// replaced object is not charged twice, and two creations cannot use the same remainder between
// check and write. Upstream has that race and handles it with a compare-and-swap on the quota's
// status and a controller that recounts every few minutes.
//
// Charges change with time, too: a pod that is being deleted stops counting when its grace period
// is over, without a write. recheckAt() recomputes the charge at that moment.
//
// The charge of a ResourceClaim depends on its class and, if it is for extended resources, on its
// pod (extended_usage.h). When one of these changes, the claim is charged again.
//
// A new or changed quota is counted from the stored objects of its namespace. status.used is
// written after the turn in which the sums changed, once for all changes of the turn. Cost: a write
// is O(quotas of the namespace * resources); nothing without a quota.

namespace koord::apiserver {
namespace {

constexpr const char* kQuotas = "resourcequotas";
constexpr const char* kResourceClaims = "resourceclaims.resource.k8s.io";

api::ResourceList masked(const api::ResourceList& amounts, const api::ResourceList& names) {
  api::ResourceList out;
  for (const auto& [name, amount] : amounts)
    if (names.contains(name)) out.emplace(name, amount);
  return out;
}

json::object textOf(const api::ResourceList& amounts) {
  json::object out;
  for (const auto& [name, amount] : amounts) out[name] = amount.toString();
  return out;
}

std::string itemOf(const Resource& stored, const std::string& key) {
  return stored.table + "/" + key;
}

}  // namespace

void Quotas::load() {
  byNamespace_.clear();
  for (const auto& [key, entry] : store_.table(kQuotas).entries())
    if (const auto object = parseJson(entry->text))
      reload({std::string(entry->namespace_()), std::string(entry->name())}, *object);
}

// Recounts one quota.
void Quotas::reload(const Name& name, const json::value& object) {
  auto& quota = byNamespace_[name.first][name.second];
  quota = {quotaRulesOf(object), {}, {}};
  for (const auto& [table, resource] : registry_.all()) {
    if (!resource->namespaced || resource->table != resource->qualified() ||
        !quotaCounts(quota.rules, *resource))
      continue;
    const auto [begin, end] = store_.table(resource->table).range(name.first);
    for (auto it = begin; it != end; ++it)
      if (const auto counted = parseJson(it->second->text))
        charge(name, quota, *resource, it->first, &*counted);
  }
  touch(name);
}

Outcome<> Quotas::admit(const json::value& object, const Resource& stored) const {
  if (byNamespace_.empty() || !stored.namespaced) return {};
  const auto namespace_ = textAt(object, "metadata", "namespace");
  const auto quotas = byNamespace_.find(namespace_);
  if (quotas == byNamespace_.end()) return {};
  const auto name = textAt(object, "metadata", "name");
  const auto forbidden = [&](const std::string& why) {
    return refuse(ErrorCode::Forbidden,
                  fmt::format("{} \"{}\" is forbidden: {}", stored.qualified(), name, why));
  };
  const auto item = itemOf(stored, makeKey(namespace_, name));
  for (const auto& [quotaName, quota] : quotas->second) {
    if (!quotaCounts(quota.rules, stored) || !quotaMatches(quota.rules, object, stored)) continue;
    if (stored.isCore("pods"))
      if (const auto missing = missingForQuota(quota.rules, object); !missing.empty())
        return forbidden(fmt::format("failed quota: {}: {}", quotaName, missing));
    auto wanted = masked(usageOf(object, stored), quota.rules.hard);
    if (const auto before = quota.charges.find(item); before != quota.charges.end())
      for (const auto& [resource, amount] : before->second)
        if (const auto it = wanted.find(resource); it != wanted.end()) it->second.sub(amount);
    api::ResourceList requested, used, limited;
    for (const auto& [resource, amount] : wanted) {
      if (amount.sign() <= 0) continue;
      const auto had = quota.used.find(resource);
      const Quantity now = had == quota.used.end() ? Quantity{} : had->second;
      Quantity next = now;
      next.add(amount);
      const auto& limit = quota.rules.hard.at(resource);
      if (next <= limit) continue;
      requested[resource] = amount;
      used[resource] = now;
      limited[resource] = limit;
    }
    if (!requested.empty())
      return forbidden(fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                                   quotaName, quotaText(requested), quotaText(used),
                                   quotaText(limited)));
  }
  return {};
}

api::ResourceList Quotas::usageOf(const json::value& object, const Resource& stored) const {
  const WallTime now = executor_.wallNow();
  api::ResourceList usage = quotaUsage(object, stored, now);
  if (stored.is("resource.k8s.io", "resourceclaims"))
    for (const auto& [name, amount] : extendedUsage(object, usage, store_, registry_, now))
      usage.emplace(name, amount);
  return usage;
}

// Which extended resource a class backs may have changed.
void Quotas::classChanged() {
  std::vector<Name> names;
  for (const auto& [namespace_, quotas] : byNamespace_)
    for (const auto& [name, quota] : quotas)
      if (std::ranges::any_of(quota.rules.hard, [](const auto& limit) {
            return limit.first.starts_with("requests.");
          }))
        names.emplace_back(namespace_, name);
  for (const Name& name : names)
    if (const auto entry = store_.table(kQuotas).find(makeKey(name.first, name.second)))
      if (const auto object = parseJson(entry->text)) reload(name, *object);
}

// `pod` is nullptr if it was deleted.
void Quotas::podOfClaimsChanged(const std::string& key, const json::value* pod) {
  const auto claims = registry_.findByTable(kResourceClaims);
  const auto slash = key.find('/');
  const std::string namespace_ = key.substr(0, slash);
  const auto quotas = byNamespace_.find(namespace_);
  if (!claims || quotas == byNamespace_.end() ||
      (pod && !at(*pod, "status", "extendedResourceClaimStatus")) ||
      std::ranges::none_of(quotas->second, [&](const auto& each) {
        return quotaCounts(each.second.rules, *claims);
      }))
    return;
  forEachExtendedClaim(store_, namespace_, key.substr(slash + 1),
                       [&](const std::string& claimKey, const json::value& claim) {
                         for (auto& [name, quota] : quotas->second)
                           if (quotaCounts(quota.rules, *claims))
                             charge({namespace_, name}, quota, *claims, claimKey, &claim);
                       });
}

void Quotas::changed(const Resource& stored, const std::string& key, const json::value* now) {
  if (stored.is("resource.k8s.io", "deviceclasses")) return classChanged();
  const bool isQuota = stored.isCore(kQuotas);
  if ((byNamespace_.empty() && !isQuota) || !stored.namespaced) return;
  const auto slash = key.find('/');
  const std::string namespace_ = key.substr(0, slash);
  if (isQuota) {
    const Name name{namespace_, key.substr(slash + 1)};
    if (now) {
      reload(name, *now);
    } else {
      auto& quotas = byNamespace_[namespace_];
      quotas.erase(name.second);
      if (quotas.empty()) byNamespace_.erase(namespace_);
    }
  }
  const auto quotas = byNamespace_.find(namespace_);
  if (quotas == byNamespace_.end()) return;
  for (auto& [name, quota] : quotas->second)
    if (quotaCounts(quota.rules, stored)) charge({namespace_, name}, quota, stored, key, now);
  if (stored.isCore("pods")) podOfClaimsChanged(key, now);
}

void Quotas::tableRemoved(const std::string& table) {
  for (auto& [namespace_, quotas] : byNamespace_)
    for (auto& [name, quota] : quotas) {
      std::vector<std::string> items;
      for (const auto& [item, amounts] : quota.charges)
        if (item.starts_with(table + "/")) items.push_back(item);
      for (const auto& item : items) setCharge({namespace_, name}, quota, item, {});
    }
}

void Quotas::charge(const Name& name, Quota& quota, const Resource& stored, const std::string& key,
                    const json::value* object) {
  api::ResourceList amounts;
  if (object && quotaMatches(quota.rules, *object, stored)) {
    amounts = masked(usageOf(*object, stored), quota.rules.hard);
    if (const auto ends = quotaUsageEnds(*object, stored); ends && *ends >= executor_.wallNow())
      recheckAt(*ends, stored, key);
  }
  setCharge(name, quota, itemOf(stored, key), std::move(amounts));
}

void Quotas::setCharge(const Name& name, Quota& quota, const std::string& item,
                       api::ResourceList amounts) {
  auto& before = quota.charges[item];
  if (before == amounts) {
    if (amounts.empty()) quota.charges.erase(item);
    return;
  }
  for (const auto& [resource, amount] : before) quota.used[resource].sub(amount);
  for (const auto& [resource, amount] : amounts) quota.used[resource].add(amount);
  if (amounts.empty()) {
    quota.charges.erase(item);
  } else {
    before = std::move(amounts);
  }
  touch(name);
}

void Quotas::recheckAt(WallTime when, const Resource& stored, const std::string& key) {
  const Duration wait = when - executor_.wallNow() + std::chrono::milliseconds(1);
  executor_.runAfter(wait, [this, alive = std::weak_ptr<bool>(alive_), table = stored.table, key] {
    if (alive.expired()) return;
    const auto resource = registry_.findByTable(table);
    const auto entry = store_.table(table).find(key);
    if (!resource || !entry) return;
    if (const auto object = parseJson(entry->text)) changed(*resource, key, &*object);
  });
}

void Quotas::touch(const Name& name) {
  if (dirty_.empty())
    executor_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) flush();
    });
  dirty_.insert(name);
}

void Quotas::flush() {
  if (store_.failure()) {  // all is recounted when it can be written
    dirty_.clear();
    return;
  }
  auto& table = store_.table(kQuotas);
  const auto resource = registry_.findByTable(kQuotas);
  for (const auto& name : std::exchange(dirty_, {})) {
    const auto quotas = byNamespace_.find(name.first);
    if (quotas == byNamespace_.end()) continue;
    const auto quota = quotas->second.find(name.second);
    const auto entry = table.find(makeKey(name.first, name.second));
    if (quota == quotas->second.end() || !entry) continue;
    auto object = parseJson(entry->text);
    if (!object) continue;
    api::ResourceList used;
    for (const auto& [limited, limit] : quota->second.rules.hard)
      used[limited] = quota->second.used[limited];
    json::value status =
        json::object{{"hard", textOf(quota->second.rules.hard)}, {"used", textOf(used)}};
    auto& now = object->get_object()["status"];
    if (now == status) continue;
    now = std::move(status);
    store_.put(table, draftOf(*object, *resource), *object);
  }
}

}  // namespace koord::apiserver
