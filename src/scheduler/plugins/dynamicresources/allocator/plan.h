#pragma once

// Plan: the claims that one pod needs allocated, prepared for the search: requests with their
// alternatives, classes, selectors and constraints. It does not depend on nodes: pods with equal
// claims share a plan.

#include <functional>

#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

namespace koord::scheduler::dra {

using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
using ClassPtr = std::shared_ptr<const api::DeviceClass>;

// Feature gates of the cluster; the defaults are those of Kubernetes 1.36.
struct Features {
  bool adminAccess = true;
  bool prioritizedList = true;
  bool partitionableDevices = true;
  bool deviceTaints = true;
  bool bindingConditions = true;
  bool consumableCapacity = true;
  bool listTypeAttributes = false;
};

// A request or one alternative of it.
struct RequestPlan {
  std::string name;  // "request" or "request/alternative"
  std::string own;   // the part after the slash, or the name
  std::size_t claim = 0;
  ClassPtr class_;
  MatcherPtr classMatcher;
  MatcherPtr matcher;
  bool all = false;  // every device that matches
  std::int64_t count = 0;
  bool adminAccess = false;
  const api::List<api::DeviceToleration>* tolerations = nullptr;
  const api::CapacityRequirements* capacity = nullptr;
  std::uint64_t constraints = 0;  // of its claim, that apply to this request
};
// A request of a claim: the first alternative that fits is used.
struct GroupPlan {
  std::size_t claim = 0;
  std::size_t first = 0;  // in Plan::requests
  std::size_t alternatives = 1;
};
struct ClaimPlan {
  ClaimPtr claim;
  std::size_t first = 0;  // in Plan::groups; one for each request
};
struct Plan {
  std::vector<ClaimPlan> claims;
  std::vector<GroupPlan> groups;
  std::vector<RequestPlan> requests;
  Features features;
  bool ranked = false;  // some request has alternatives
};

// The search goes one level deeper for each device.
inline constexpr std::int64_t kMaxDevicesOfPod = 2048;

// The error names the problem of a claim, as kube-scheduler does. `class_` returns nullptr for an
// unknown class.
Result<Plan> makePlan(std::vector<ClaimPtr> claims, const Features& features,
                      const std::function<ClassPtr(const std::string&)>& class_,
                      Matchers& matchers);

// "namespace/name", or the name alone of an object without a namespace.
std::string nameOf(const api::ObjectMeta& metadata);

}  // namespace koord::scheduler::dra
