#include "manager/webhook/quota/quota_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

Result<> no(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
}

bool hasKeysOf(const api::ResourceList& list, const api::ResourceList& of) {
  return std::ranges::all_of(of, [&](const auto& entry) { return list.contains(entry.first); });
}

// Compares each resource; a resource missing in `limits` counts as 0.
bool within(const api::ResourceList& amounts, const api::ResourceList& limits) {
  return std::ranges::all_of(amounts, [&](const auto& entry) {
    return entry.second <= model::amountOf(limits, entry.first);
  });
}

api::ResourceList larger(api::ResourceList a, const api::ResourceList& b) {
  for (const auto& [name, amount] : b) {
    const auto it = a.find(name);
    if (it == a.end()) {
      a[name] = amount;
    } else {
      it->second = std::max(it->second, amount);
    }
  }
  return a;
}

}  // namespace

Result<> QuotaChecks::run() const {
  if (quota_.name == model::kRootQuota) return {};
  if (auto ok = checkBecomingParent(); !ok) return ok;
  if (auto ok = checkTree(); !ok) return ok;
  if (belowRoot() && !quota_.isParent) return {};
  if (auto ok = checkParent(); !ok) return ok;
  if (auto ok = checkNoCycle(); !ok) return ok;
  if (auto ok = checkKeys(); !ok)
    return no("failed to check sub and parent group quotaKey, err: " + ok.error().message);
  if (auto ok = checkMins(); !ok) return ok;
  if (!rules_.guaranteeUsage) return {};
  if (auto ok = checkGuaranteed(); !ok)
    return no(fmt::format("{} {}", ok.error().message, quota_.name));
  return {};
}

bool QuotaChecks::belowRoot() const {
  return quota_.parent == model::kRootQuota;
}

Result<> QuotaChecks::checkBecomingParent() const {
  if (!old_ || old_->isParent == quota_.isParent) return {};
  if (!quota_.isParent && !topology_.childrenOf(quota_.name).empty())
    return no(fmt::format(
        "quota has children, isParent is forbidden to modify as false, quotaName:{}", quota_.name));
  if (quota_.isParent && hasPods_)
    return no(
        fmt::format("quota has bound pods, isParent is forbidden to modify as true, quotaName: {}",
                    quota_.name));
  return {};
}

Result<> QuotaChecks::checkTree() const {
  if (old_ && old_->tree != quota_.tree)
    return no(fmt::format("{} tree id changed [{}] vs [{}]", quota_.name, old_->tree, quota_.tree));
  if (!belowRoot()) {
    const QuotaInfo* parent = topology_.find(quota_.parent);
    if (parent && parent->tree != quota_.tree)
      return no(fmt::format("{} tree id is different from parent {}, [{}] vs [{}]", quota_.name,
                            parent->name, quota_.tree, parent->tree));
  }
  for (const auto& name : topology_.childrenOf(quota_.name)) {
    const QuotaInfo* child = topology_.find(name);
    if (child && child->tree != quota_.tree)
      return no(fmt::format("{} tree id is different from child {}, [{}] vs [{}]", quota_.name,
                            child->name, quota_.tree, child->tree));
  }
  return {};
}

Result<> QuotaChecks::checkParent() const {
  if (belowRoot()) return {};
  const QuotaInfo* parent = topology_.find(quota_.parent);
  if (!parent)
    return no(fmt::format("{} has parentName {} but not find parentInfo in quotaInfoMap",
                          quota_.name, quota_.parent));
  if (!parent->isParent)
    return no(fmt::format("{} has parentName {} but the parentQuotaInfo's IsParent is false",
                          quota_.name, quota_.parent));
  return {};
}

Result<> QuotaChecks::checkNoCycle() const {
  std::string path = quota_.name;
  std::set<std::string, std::less<>> seen{quota_.name};
  const QuotaInfo* above = nullptr;
  for (std::string_view name = quota_.parent; name != model::kRootQuota; name = above->parent) {
    path += fmt::format(" -> {}", name);
    if (name == quota_.name)
      return no(
          fmt::format("metadata.labels[{}]: Invalid value: \"{}\": a quota cannot be below "
                      "itself: {}",
                      model::kLabelQuotaParent, quota_.parent, path));
    above = topology_.find(name);
    // Errors further up are not of this quota.
    if (!above || !seen.insert(above->name).second) break;
  }
  return {};
}

Result<> QuotaChecks::checkKeys() const {
  if (!belowRoot())
    if (auto ok = checkKeysOf(*topology_.find(quota_.parent), quota_, true); !ok) return ok;
  for (const auto& name : topology_.childrenOf(quota_.name))
    if (const QuotaInfo* child = topology_.find(name))
      if (auto ok = checkKeysOf(quota_, *child, false); !ok) return ok;
  return {};
}

Result<> QuotaChecks::checkKeysOf(const QuotaInfo& parent, const QuotaInfo& child,
                                  bool childIsNew) const {
  constexpr std::string_view kFailed = "checkSubAndParentGroupQuotaKey failed";
  if (rules_.keysMayDiffer) {
    if (!hasKeysOf(parent.max, child.max))
      return no(fmt::format("{}: {}'s max keys are not all included in {}'s", kFailed, child.name,
                            parent.name));
  } else if (!hasKeysOf(parent.max, child.max) || !hasKeysOf(child.max, parent.max)) {
    const std::string& first = childIsNew ? parent.name : child.name;
    const std::string& second = childIsNew ? child.name : parent.name;
    return no(fmt::format("{}: {}'s max keys are not the same with {}'s", kFailed, first, second));
  }
  if (!hasKeysOf(parent.min, child.min))
    return no(fmt::format("{}: {}'s min keys are not all included in {}'s", kFailed, child.name,
                          parent.name));
  return {};
}

api::ResourceList QuotaChecks::minOfChildren(const std::string& parent,
                                             std::string_view except) const {
  api::ResourceList sum;
  for (const auto& name : topology_.childrenOf(parent))
    if (const QuotaInfo* child = topology_.find(name); child && name != except)
      model::addTo(sum, child->min);
  return sum;
}

Result<> QuotaChecks::checkMins() const {
  if (quota_.forceUpdate || quota_.isTreeRoot) return {};
  if (!belowRoot()) {
    api::ResourceList sum = minOfChildren(quota_.parent, quota_.name);
    model::addTo(sum, quota_.min);
    if (!within(sum, topology_.find(quota_.parent)->min))
      return no(fmt::format("checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: {}",
                            quota_.parent));
  }
  if (!within(minOfChildren(quota_.name, ""), quota_.min))
    return no(fmt::format(
        "checkMinQuotaSum all children's MinQuota > current MinQuota, current: {}", quota_.name));
  return {};
}

// A min above the guaranteed amount needs free resources further up: each level with too little
// needs the sum of its children's needs from its own parent.
Result<> QuotaChecks::checkGuaranteed() const {
  if (quota_.forceUpdate || quota_.tree.empty() || quota_.isTreeRoot) return {};
  if (within(quota_.min, quota_.guaranteed)) return {};
  api::ResourceList needed = larger(quota_.min, quota_.guaranteed);
  std::set<std::string, std::less<>> seen;
  for (const QuotaInfo* self = &quota_;;) {
    if (self->parent == model::kRootQuota)
      return no(fmt::format("tree root quota {} can't guarantee for min", self->name));
    const QuotaInfo* parent = topology_.find(self->parent);
    if (!parent || !seen.insert(parent->name).second)
      return no(fmt::format("parent {} not found", self->parent));
    for (const auto& name : topology_.childrenOf(parent->name))
      if (const QuotaInfo* sibling = topology_.find(name); sibling && name != self->name)
        model::addTo(needed, sibling->guaranteed);
    needed = larger(parent->min, needed);
    if (within(needed, parent->guaranteed)) return {};
    self = parent;
  }
}

}  // namespace koord::manager
