#include "scheduler/plugins/dynamicresources/allocator/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace koord::scheduler::dra {

namespace {

constexpr auto kMaxResults = static_cast<std::int64_t>(api::kMaxAllocationResults);

struct Planner {
  const Features& features;
  const std::function<ClassPtr(const std::string&)>& class_;
  Matchers& matchers;
  Plan plan;

  // What requests and alternatives have in common.
  template <class Request>
  Result<> add(const api::ResourceClaim& claim, const Request& request, const std::string& parent,
               const std::string& own) {
    const auto problem = [&](std::string_view what) {
      return fail(ErrorCode::Invalid,
                  fmt::format("claim {}, request {}: {}", nameOf(claim.metadata), own, what));
    };
    for (std::size_t i = 0; i < request.selectors.size(); ++i)
      if (!request.selectors[i].cel)
        return fail(ErrorCode::Invalid,
                    fmt::format("claim {}, request {}, selector #{}: CEL expression empty "
                                "(unsupported selector type?)",
                                nameOf(claim.metadata), own, i));
    RequestPlan out;
    if constexpr (requires { request.adminAccess; }) out.adminAccess = request.adminAccess;
    if (out.adminAccess && !features.adminAccess)
      return problem("admin access is requested, but the feature is disabled");
    if (request.deviceClassName.empty())
      return problem("missing device class name (unsupported request type?)");
    out.class_ = class_(request.deviceClassName);
    if (!out.class_)
      return problem(
          fmt::format("could not retrieve device class {}: not found", request.deviceClassName));
    for (std::size_t i = 0; i < out.class_->spec.selectors.size(); ++i)
      if (!std::as_const(out.class_->spec.selectors)[i].cel)
        return fail(ErrorCode::Invalid,
                    fmt::format("class {}: selector #{}: CEL expression empty (unsupported "
                                "selector type?)",
                                request.deviceClassName, i));
    out.name = parent.empty() ? own : parent + "/" + own;
    out.own = own;
    out.claim = plan.claims.size() - 1;
    out.all = request.allocationMode == "All";
    if (!out.all && !request.allocationMode.empty() && request.allocationMode != "ExactCount")
      return problem(fmt::format("unsupported count mode {}", request.allocationMode));
    out.count = request.count == 0 ? 1 : request.count;
    out.classMatcher = matchers.of(out.class_->spec.selectors);
    out.matcher = matchers.of(request.selectors);
    out.tolerations = &request.tolerations;
    out.capacity = request.capacity ? &*request.capacity : nullptr;
    const auto& constraints = claim.spec.devices.constraints;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const auto& names = constraints[i].requests;
      const auto has = [&](const std::string& name) {
        return std::ranges::find(names, name) != names.end();
      };
      if (names.empty() || has(out.name) || (!parent.empty() && has(parent)))
        out.constraints |= std::uint64_t{1} << i;
    }
    plan.requests.push_back(std::move(out));
    return {};
  }

  Result<> add(const api::ResourceClaim& claim, const api::DeviceRequest& request) {
    const auto disabled = [&](std::string_view kind, const std::string& name,
                              std::string_view what) {
      return fail(ErrorCode::Invalid,
                  fmt::format("claim {}, {} {}: {}", nameOf(claim.metadata), kind, name, what));
    };
    constexpr std::string_view kNoCapacity =
        "has capacity requests, but the DRAConsumableCapacity feature is disabled";
    GroupPlan group{plan.claims.size() - 1, plan.requests.size(), 1};
    if (!request.firstAvailable.empty()) {
      if (!features.prioritizedList)
        return disabled("request", request.name,
                        "has subrequests, but the DRAPrioritizedList feature is disabled");
      for (const api::DeviceSubRequest& alternative : request.firstAvailable) {
        if (alternative.capacity && !features.consumableCapacity)
          return disabled("subrequest", alternative.name, kNoCapacity);
        if (auto added = add(claim, alternative, request.name, alternative.name); !added)
          return added;
      }
      group.alternatives = request.firstAvailable.size();
      plan.ranked = true;
    } else if (request.exactly) {
      if (request.exactly->capacity && !features.consumableCapacity)
        return disabled("request", request.name, kNoCapacity);
      if (auto added = add(claim, *request.exactly, "", request.name); !added) return added;
    } else {
      return disabled("request", request.name, "unknown request type");
    }
    plan.groups.push_back(group);
    return {};
  }

  // The smallest number of devices that the claim gets.
  Result<> checkCount(const ClaimPlan& claim) const {
    std::int64_t least = 0;
    for (std::size_t g = claim.first; g < plan.groups.size(); ++g) {
      std::int64_t fewest = std::numeric_limits<std::int32_t>::max();
      for (std::size_t a = 0; a < plan.groups[g].alternatives; ++a) {
        const RequestPlan& request = plan.requests[plan.groups[g].first + a];
        fewest = std::min(fewest, request.all ? 0 : request.count);
      }
      least += fewest;
    }
    if (least <= kMaxResults) return {};
    return fail(
        ErrorCode::Invalid,
        fmt::format("claim {}: number of requested devices {} exceeds the claim limit of {}",
                    nameOf(claim.claim->metadata), least, api::kMaxAllocationResults));
  }

  // The largest number of devices that the search may have to choose.
  Result<> checkTotal() const {
    std::int64_t total = 0;
    for (std::size_t c = 0; c < plan.claims.size(); ++c) {
      const std::size_t end =
          c + 1 < plan.claims.size() ? plan.claims[c + 1].first : plan.groups.size();
      std::int64_t most = 0;
      for (std::size_t g = plan.claims[c].first; g < end; ++g) {
        std::int64_t ofGroup = 0;
        for (std::size_t a = 0; a < plan.groups[g].alternatives; ++a) {
          const RequestPlan& request = plan.requests[plan.groups[g].first + a];
          ofGroup = std::max(ofGroup, request.all ? kMaxResults : request.count);
        }
        most = std::min(most + std::min(ofGroup, kMaxResults), kMaxResults);
      }
      total += most;
    }
    if (total <= kMaxDevicesOfPod) return {};
    return fail(ErrorCode::Invalid,
                fmt::format("the pod's claims request {} devices, more than the {} that one pod "
                            "can get",
                            total, kMaxDevicesOfPod));
  }
};

}  // namespace

std::string nameOf(const api::ObjectMeta& metadata) {
  return metadata.namespace_.empty() ? metadata.name : metadata.namespace_ + "/" + metadata.name;
}

Result<Plan> makePlan(std::vector<ClaimPtr> claims, const Features& features,
                      const std::function<ClassPtr(const std::string&)>& class_,
                      Matchers& matchers) {
  Planner planner{features, class_, matchers, {}};
  for (ClaimPtr& claim : claims) {
    planner.plan.claims.push_back({claim, planner.plan.groups.size()});
    const api::DeviceClaim& devices = claim->spec.devices;
    for (const api::DeviceRequest& request : devices.requests)
      if (auto added = planner.add(*claim, request); !added) return fail(added.error());
    if (auto counted = planner.checkCount(planner.plan.claims.back()); !counted)
      return fail(counted.error());
    for (std::size_t i = 0; i < devices.constraints.size(); ++i) {
      const auto& constraint = std::as_const(devices.constraints)[i];
      if (constraint.matchAttribute.empty() && constraint.distinctAttribute.empty())
        return fail(ErrorCode::Invalid,
                    fmt::format("claim {}, constraint #{}: empty constraint (unsupported "
                                "constraint type?)",
                                nameOf(claim->metadata), i));
    }
  }
  if (auto counted = planner.checkTotal(); !counted) return fail(counted.error());
  planner.plan.features = features;
  return std::move(planner.plan);
}

}  // namespace koord::scheduler::dra
