#pragma once

// Expressions that select devices of ResourceSlices, in DeviceClasses and ResourceClaims:
//
//   device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"
//
// The environment is that of Kubernetes 1.36: variable `device` (kubernetes.DRADevice) with driver,
// attributes and capacity (domain -> name -> value; an unknown domain is an empty map) and
// allowMultipleAllocations; Kubernetes' libraries and cel.bind. An evaluation that costs more than
// kDeviceSelectorCost ends with an error. The API server refuses expressions that can cost more.
//
// Thread-safe: compiled expressions are immutable.

#include <memory>
#include <string>

#include "api/resource_devices.h"
#include "base/result.h"

namespace koord::model {

inline constexpr std::uint64_t kDeviceSelectorCost = 1'000'000;

class DeviceExpression {
 public:
  // Invalid, with "compilation failed: ..." and all issues, or if the result is not a bool.
  static Result<DeviceExpression> compile(const std::string& text);

  // The estimated cost with the largest device that a ResourceSlice can have; computed at each
  // call.
  std::uint64_t maxCost() const;

  // The error is that of the evaluation: a missing attribute, the limit of the cost, a result that
  // is not a bool.
  Result<bool> matches(const std::string& driver, const api::Map<api::DeviceAttribute>& attributes,
                       const api::Map<api::DeviceCapacity>& capacity,
                       bool allowMultipleAllocations) const;

 private:
  struct State;
  explicit DeviceExpression(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace koord::model
