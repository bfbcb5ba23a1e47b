#include "scheduler/plugins/dynamicresources/allocator/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace koord::scheduler::dra {

namespace {

constexpr std::int64_t kMaxAlternatives = 8;

bool contains(const api::List<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

bool sameRequirement(const api::NodeSelectorRequirement& a, const api::NodeSelectorRequirement& b) {
  if (a.key != b.key || a.operator_ != b.operator_) return false;
  std::vector<std::string> left(a.values.begin(), a.values.end());
  std::vector<std::string> right(b.values.begin(), b.values.end());
  std::ranges::sort(left);
  std::ranges::sort(right);
  return left == right;
}

void merge(const api::List<api::NodeSelectorRequirement>& from,
           api::List<api::NodeSelectorRequirement>& into) {
  for (const auto& requirement : from)
    if (std::ranges::none_of(into,
                             [&](const auto& each) { return sameRequirement(each, requirement); }))
      into.push_back(requirement);
}

struct Builder {
  const Plan& plan;
  const NodeInventory& node;
  const Search& search;
  const std::string& nodeName;
  const std::function<std::string()>& newShareId;

  api::DeviceRequestAllocationResult resultOf(const Pick& pick) const {
    const RequestPlan& request = plan.requests[pick.request];
    const DeviceOnNode& device = node.devices[pick.device];
    const api::SliceDevice& object = *device.device->object;
    api::DeviceRequestAllocationResult result;
    result.request = request.name;
    result.driver = device.pool->key.driver;
    result.pool = device.pool->key.pool;
    result.device = object.name;
    if (request.adminAccess) result.adminAccess = true;
    result.tolerations = *request.tolerations;
    if (plan.features.bindingConditions) {
      result.bindingConditions = object.bindingConditions;
      result.bindingFailureConditions = object.bindingFailureConditions;
    }
    if (pick.share) result.shareID = newShareId();
    result.consumedCapacity = pick.consumed;
    return result;
  }

  const RequestPlan& chosenOf(std::size_t group) const {
    return plan.requests[plan.groups[group].first + search.chosen()[group]];
  }

  // Configuration of classes, each class once, then of the claim, if it is for a chosen request.
  // Configuration for all requests names none.
  api::List<api::DeviceAllocationConfiguration> configOf(std::size_t claim) const {
    const ClaimPlan& what = plan.claims[claim];
    const api::DeviceClaim& devices = what.claim->spec.devices;
    api::List<api::DeviceAllocationConfiguration> config;
    std::map<std::string, std::pair<std::size_t, std::size_t>> ofClass;
    for (std::size_t r = 0; r < devices.requests.size(); ++r) {
      const RequestPlan& chosen = chosenOf(what.first + r);
      const std::size_t first = config.size();
      const auto known = ofClass.find(chosen.class_->metadata.name);
      if (known != ofClass.end()) {
        for (std::size_t i = known->second.first; i < known->second.second; ++i)
          config[i].requests.push_back(chosen.name);
        continue;
      }
      for (const auto& each : std::as_const(chosen.class_->spec.config))
        config.push_back({"FromClass", {chosen.name}, each.opaque});
      ofClass[chosen.class_->metadata.name] = {first, config.size()};
    }
    const auto names = [&](const api::List<std::string>& requests, std::size_t r) {
      return contains(requests, devices.requests[r].name) ||
             contains(requests, chosenOf(what.first + r).name);
    };
    for (const auto& each : devices.config) {
      bool wanted = each.requests.empty();
      for (std::size_t r = 0; r < devices.requests.size() && !wanted; ++r)
        wanted = names(each.requests, r);
      if (wanted) config.push_back({"FromClaim", each.requests, each.opaque});
    }
    for (auto& each : config) {
      bool ofAll = true;
      for (std::size_t r = 0; r < devices.requests.size() && ofAll; ++r)
        ofAll = names(each.requests, r);
      if (ofAll) each.requests.clear();
    }
    return config;
  }

  // Where the devices of the claim can be used; nullopt: everywhere.
  Result<std::optional<api::NodeSelector>> selectorOf(std::size_t claim) const {
    api::NodeSelectorTerm term;
    for (const Pick& pick : search.picks()) {
      if (plan.requests[pick.request].claim != claim) continue;
      const DeviceOnNode& device = node.devices[pick.device];
      const api::SliceDevice& object = *device.device->object;
      const bool each = device.slice->spec.perDeviceNodeSelection;
      const std::string_view local =
          each ? std::string_view(object.nodeName) : std::string_view(device.slice->spec.nodeName);
      if (!local.empty() || object.bindsToNode) {
        api::NodeSelectorTerm here;
        here.matchFields.push_back({"metadata.name", "In", {nodeName}});
        return api::NodeSelector{{std::move(here)}};
      }
      const auto& selector = each ? object.nodeSelector : device.slice->spec.nodeSelector;
      if (!selector || selector->nodeSelectorTerms.empty()) continue;
      if (selector->nodeSelectorTerms.size() > 1)
        return fail(ErrorCode::Invalid, fmt::format("create NodeSelector for claim {}: unsupported "
                                                    "ResourceSlice.NodeSelector with {} terms",
                                                    plan.claims[claim].claim->metadata.name,
                                                    selector->nodeSelectorTerms.size()));
      const auto& only = std::as_const(selector->nodeSelectorTerms)[0];
      merge(only.matchFields, term.matchFields);
      merge(only.matchExpressions, term.matchExpressions);
    }
    if (term.matchFields.empty() && term.matchExpressions.empty()) return std::nullopt;
    return api::NodeSelector{{std::move(term)}};
  }
};

}  // namespace

Result<std::vector<api::AllocationResult>> allocationsOf(
    const Plan& plan, const NodeInventory& node, const Search& search, const std::string& nodeName,
    const std::function<std::string()>& newShareId) {
  const Builder builder{plan, node, search, nodeName, newShareId};
  std::vector<api::AllocationResult> allocations(plan.claims.size());
  for (const Pick& pick : search.picks())
    allocations[plan.requests[pick.request].claim].devices.results.push_back(
        builder.resultOf(pick));
  for (std::size_t claim = 0; claim < plan.claims.size(); ++claim) {
    allocations[claim].devices.config = builder.configOf(claim);
    auto selector = builder.selectorOf(claim);
    if (!selector) return fail(std::move(selector.error()));
    allocations[claim].nodeSelector = *std::move(selector);
  }
  return allocations;
}

std::int64_t rankOf(const Plan& plan, const Search& search) {
  std::int64_t rank = 0;
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    if (plan.requests[plan.groups[g].first].name != plan.requests[plan.groups[g].first].own)
      rank += kMaxAlternatives - static_cast<std::int64_t>(search.chosen()[g]);
  return rank;
}

std::int64_t rankOf(const api::ResourceClaimSpec& spec, const api::AllocationResult& allocation) {
  std::int64_t rank = 0;
  for (const api::DeviceRequest& request : spec.devices.requests) {
    for (std::size_t i = 0; i < request.firstAvailable.size(); ++i) {
      const std::string name = request.name + "/" + request.firstAvailable[i].name;
      if (std::ranges::any_of(allocation.devices.results,
                              [&](const auto& each) { return each.request == name; }))
        rank += kMaxAlternatives - static_cast<std::int64_t>(i);
    }
  }
  return rank;
}

}  // namespace koord::scheduler::dra
