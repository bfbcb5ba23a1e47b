#pragma once

// The rules of a quota tree in simple code, for one resource at a time and recomputed from the
// input. Tests compare the QuotaTree with it.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace koord::scheduler::quota {

struct ReferenceQuota {
  std::string parent;  // "" = the root
  bool lends = true;
  bool apart = false;
  std::map<int, std::int64_t> max, min, weight;  // by resource
  // Of its own pods.
  std::map<int, std::int64_t> request, used, fixedRequest, fixedUsed;
};

struct ReferenceTree {
  bool scaleMin = true;
  bool guarantee = false;
  std::map<int, std::int64_t> total;
  std::map<std::string, ReferenceQuota> quotas;

  struct Values {
    std::int64_t childRequest = 0, request = 0, used = 0, fixedRequest = 0, fixedUsed = 0;
    std::int64_t allocated = 0, guaranteed = 0, scaledMin = 0, runtime = 0, limit = 0;
    bool operator==(const Values&) const = default;
  };

  static std::int64_t of(const std::map<int, std::int64_t>& amounts, int resource) {
    const auto it = amounts.find(resource);
    return it == amounts.end() ? 0 : it->second;
  }

  // The parent in effect: "" = the root.
  std::string parentOf(const std::string& name) const {
    const auto valid = [&](const std::string& quota) {
      const auto it = quotas.find(quota);
      return it != quotas.end() && !it->second.apart;
    };
    const ReferenceQuota& quota = quotas.at(name);
    if (quota.apart || !valid(quota.parent)) return "";
    std::set<std::string> seen;
    for (std::string next = quota.parent; valid(next); next = quotas.at(next).parent) {
      if (next == name) return "";  // a cycle with this quota
      if (!seen.insert(next).second) break;
    }
    return quota.parent;
  }
  std::vector<std::string> childrenOf(const std::string& parent) const {
    std::vector<std::string> names;
    for (const auto& [name, quota] : quotas)
      if (parentOf(name) == parent) names.push_back(name);
    return names;
  }
  bool has(const std::string& name, int resource) const {
    return quotas.at(name).max.contains(resource);
  }

  std::int64_t limitedRequest(const std::string& name, int resource, const Values& values) const {
    return has(name, resource) ? std::min(values.request, of(quotas.at(name).max, resource))
                               : values.request;
  }

  void sum(const std::string& name, int resource, std::map<std::string, Values>& all) const {
    const ReferenceQuota& quota = quotas.at(name);
    Values& values = all[name];
    if (has(name, resource)) {
      values.childRequest = of(quota.request, resource);
      values.used = values.allocated = of(quota.used, resource);
      values.fixedRequest = of(quota.fixedRequest, resource);
      values.fixedUsed = of(quota.fixedUsed, resource);
    }
    for (const std::string& child : childrenOf(name)) {
      sum(child, resource, all);
      const Values& part = all[child];
      values.childRequest += limitedRequest(child, resource, part);
      values.used += part.used;
      values.fixedRequest += part.fixedRequest;
      values.fixedUsed += part.fixedUsed;
      values.allocated += part.guaranteed;
    }
    const std::int64_t min = of(quota.min, resource);
    const bool lends = quota.apart || (quota.lends && !guarantee);
    values.request = lends ? values.childRequest : std::max(values.childRequest, min);
    if (!guarantee) values.allocated = 0;
    values.guaranteed = guarantee ? std::max(values.allocated, min) : 0;
  }

  // Distributes the amount among the children, and then their runtimes among their children.
  void share(const std::string& parent, int resource, std::optional<std::int64_t> there,
             bool counts, std::map<std::string, Values>& all) const {
    std::vector<std::string> names;
    std::int64_t mins = 0;
    for (const std::string& name : childrenOf(parent)) {
      if (quotas.at(name).apart) continue;
      names.push_back(name);
      mins += of(quotas.at(name).min, resource);
    }
    struct Child {
      std::int64_t promised, request, weight, runtime;
      bool borrows;
    };
    std::map<std::string, Child> children;  // by name
    std::int64_t left = there.value_or(0);
    for (const std::string& name : names) {
      const ReferenceQuota& quota = quotas.at(name);
      Values& values = all[name];
      values.scaledMin = of(quota.min, resource);
      if (counts && scaleMin && there && *there < mins)
        values.scaledMin = *there <= 0 ? 0
                                       : static_cast<std::int64_t>(static_cast<__int128>(*there) *
                                                                   values.scaledMin / mins);
      Child child{std::max(values.scaledMin, values.guaranteed),
                  limitedRequest(name, resource, values), of(quota.weight, resource), 0, false};
      child.borrows = child.request > child.promised;
      child.runtime = child.borrows || !quota.lends || guarantee ? child.promised : child.request;
      left -= child.runtime;
      children[name] = child;
    }
    while (left > 0) {
      __int128 weights = 0;
      for (const auto& [name, child] : children)
        if (child.borrows) weights += child.weight;
      if (weights == 0) break;
      // Whole shares first, then one unit each to the largest remainders.
      std::vector<std::pair<__int128, std::string>> remainders;
      std::int64_t dealt = 0;
      for (auto& [name, child] : children) {
        if (!child.borrows || child.weight == 0) continue;
        const __int128 product = static_cast<__int128>(child.weight) * left;
        child.runtime += static_cast<std::int64_t>(product / weights);
        dealt += static_cast<std::int64_t>(product / weights);
        remainders.emplace_back(-(product % weights), name);
      }
      std::ranges::sort(remainders);
      for (std::size_t n = 0; dealt < left; ++n, ++dealt) ++children[remainders[n].second].runtime;
      left = 0;
      for (auto& [name, child] : children) {
        if (!child.borrows || child.runtime < child.request) continue;
        left += child.runtime - child.request;
        child.runtime = child.request;
        child.borrows = false;
      }
    }
    for (const std::string& name : names) {
      Values& values = all[name];
      const std::int64_t max = of(quotas.at(name).max, resource);
      values.runtime = counts ? children[name].runtime : 0;
      values.limit = !has(name, resource) ? 0 : counts ? std::min(values.runtime, max) : max;
      share(name, resource, values.runtime, counts && has(name, resource), all);
    }
  }

  std::map<std::string, Values> evaluate(int resource) const {
    std::map<std::string, Values> all;
    std::optional<std::int64_t> there;
    if (const auto it = total.find(resource); it != total.end()) there = it->second;
    for (const std::string& name : childrenOf("")) sum(name, resource, all);
    std::int64_t apart = 0;
    for (const auto& [name, quota] : quotas) {
      if (!quota.apart) continue;
      apart += all[name].used;
      all[name].scaledMin = of(quota.min, resource);
      all[name].limit = of(quota.max, resource);
    }
    if (there) there = *there - apart;
    share("", resource, there, true, all);
    return all;
  }
};

}  // namespace koord::scheduler::quota
