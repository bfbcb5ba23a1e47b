#include "scheduler/plugins/elasticquota/charges.h"

#include <fmt/format.h>

#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

std::shared_ptr<const Resources> coveredOf(const Grants& grants) {
  std::shared_ptr<Resources> covered;
  grants.forEach([&](LedgerId, const Grant& grant) {
    const Resources* part = grant.covered();
    if (!part) return;
    if (!covered) covered = std::make_shared<Resources>();
    covered->add(*part);
  });
  return covered;
}

std::optional<Charge> ChargeLedger::readValue(const PodInfo& pod, NodeId, const Charge* held) {
  if (quotas_.ignores(pod)) return std::nullopt;
  Charge charge{quotas_.accountOf(pod), quotas_.fixed(pod), nullptr};
  if (!charge.account) return std::nullopt;
  if (held) charge.within = held->within;
  return charge;
}

GrantPtr ChargeLedger::readGrants(const PodInfo&, const Grants& all) {
  GrantPtr grant = all.of(id());
  const Charge* held = in(all);
  if (!held) return grant;
  Charge charge = *held;
  charge.within = coveredOf(all);
  if (charge == *held) return grant;
  return sharedGrant(std::move(charge));
}

GrantPtr ChargeLedger::sharedGrant(Charge charge) {
  if (charge.within) return grantOf(std::move(charge));
  std::weak_ptr<const Grant>& known = charge.account->charges[charge.fixed ? 1 : 0];
  GrantPtr grant = known.lock();
  if (!grant) known = grant = grantOf(std::move(charge));
  return grant;
}

void ChargeLedger::addValue(NodeId node, const PodInfo& pod, const Charge& charge) {
  ++charges_;
  quotas_.charge(pod, charge, 1);
  if (sweep_.nodes.contains(node)) count(sweep_, pod, charge, 1);
}

void ChargeLedger::removeValue(NodeId node, const PodInfo& pod, const Charge& charge) {
  --charges_;
  quotas_.charge(pod, charge, -1);
  if (sweep_.nodes.contains(node)) count(sweep_, pod, charge, -1);
}

void ChargeLedger::count(Sweep& sweep, const PodInfo& pod, const Charge& charge, int sign) const {
  sweep.pods += static_cast<std::size_t>(sign);
  auto& sums = sweep.sums[charge.account.get()];
  quotas_.forEachAmount(pod, charge.within.get(), [&](ResourceId resource, std::int64_t amount) {
    quota::Change& sum = sums[resource];
    sum.used += sign * quota::Sum{amount};
    if (charge.fixed) sum.fixedUsed += sign * quota::Sum{amount};
  });
}

std::string ChargeLedger::verifyValues(NodeId node, Held held) const {
  for (const auto& [pod, charge] : held) {
    const AccountPtr right = quotas_.accountOf(*pod);
    if (right && charge->account != right)
      return fmt::format("pod {} is charged to {} but belongs to {}; ", pod->key(),
                         charge->account->text, right->text);
  }
  if (!sweep_.nodes.contains(node)) {
    sweep_.nodes.insert(node);
    for (const auto& [pod, charge] : held) count(sweep_, *pod, *charge, 1);
  }
  if (sweep_.pods < charges_) return "";
  const Sweep all = std::exchange(sweep_, {});
  return compare(all);
}

std::string ChargeLedger::compare(const Sweep& sweep) const {
  std::string difference;
  quotas_.accounts().forEach([&](Account& account) {
    const auto counted = sweep.sums.find(&account);
    for (const auto& [resource, sum] : account.sums) {
      const quota::Change kept = sum;
      quota::Change right;
      if (counted != sweep.sums.end()) right = counted->second.of(resource);
      if (kept.used == right.used && kept.fixedUsed == right.fixedUsed) continue;
      difference += fmt::format("{} {}: used is {}, counted {}; ", account.text, resource,
                                quota::clamped(kept.used), quota::clamped(right.used));
      // Corrected, because pods are judged by these sums.
      Accounts::add(
          account, resource,
          {.used = right.used - kept.used, .fixedUsed = right.fixedUsed - kept.fixedUsed});
    }
  });
  return difference;
}

}  // namespace koord::scheduler
