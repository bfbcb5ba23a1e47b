#include "scheduler/plugins/dynamicresources/allocator/capacity.h"

#include <algorithm>

namespace koord::scheduler::dra {

namespace {

using Policy = api::CapacityRequestPolicy;
using Range = api::CapacityRequestPolicyRange;

// The smallest valid amount of the range that is not less. More than the maximum stays: it is
// refused later.
Quantity roundUp(const Quantity& requested, const Range& range) {
  if (requested < *range.min) return *range.min;
  if (!range.step) return requested;
  const std::int64_t step = range.step->value();
  const std::int64_t min = range.min->value();
  if (step <= 0) return requested;
  const std::int64_t steps = (requested.value() - min + step - 1) / step;
  return Quantity::of(min + step * steps, Quantity::Format::BinarySI);
}

Quantity consumedOf(const Quantity* requested, const api::DeviceCapacity& capacity) {
  const Policy* policy = capacity.requestPolicy ? &*capacity.requestPolicy : nullptr;
  if (!requested) return policy && policy->default_ ? *policy->default_ : capacity.value;
  if (!policy) return *requested;
  if (policy->validRange && policy->validRange->min)
    return roundUp(*requested, *policy->validRange);
  const auto valid = std::ranges::find_if(
      policy->validValues, [&](const Quantity& value) { return *requested <= value; });
  return valid == policy->validValues.end() ? *requested : *valid;
}

bool violates(const Quantity& amount, const Policy& policy) {
  if (policy.default_ && amount == *policy.default_) return false;
  if (policy.validRange) {
    const Range& range = *policy.validRange;
    if (range.max && amount > *range.max) return true;
    const std::int64_t step = range.step ? range.step->value() : 0;
    const std::int64_t min = range.min ? range.min->value() : 0;
    return step > 0 && (amount.value() - min) % step != 0;
  }
  return !policy.validValues.empty() &&
         std::ranges::find(policy.validValues, amount) == policy.validValues.end();
}

const Quantity* amountIn(const api::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  return it == list.end() ? nullptr : &it->second;
}

const Quantity* requestedOf(const api::CapacityRequirements* request, const std::string& name) {
  return request ? amountIn(request->requests, name) : nullptr;
}

}  // namespace

api::ResourceList consumedCapacity(const api::CapacityRequirements* request,
                                   const DeviceContent& device) {
  api::ResourceList consumed;
  for (const auto& [name, capacity] : device.capacity)
    consumed[name] = consumedOf(requestedOf(request, name), capacity);
  return consumed;
}

bool capacityFits(const api::CapacityRequirements* request, const DeviceContent& device,
                  const api::ResourceList* consumed, const api::ResourceList* allocating) {
  if (request) {
    for (const auto& [name, amount] : request->requests)
      if (!device.capacity.contains(name)) return false;
  } else if (!device.allowMultipleAllocations && !device.hasRequestPolicy && !consumed) {
    return true;
  }
  for (const auto& [name, capacity] : device.capacity) {
    Quantity sum = consumedOf(requestedOf(request, name), capacity);
    if (capacity.requestPolicy && violates(sum, *capacity.requestPolicy)) return false;
    for (const api::ResourceList* list : {consumed, allocating})
      if (const Quantity* more = list ? amountIn(*list, name) : nullptr) sum.add(*more);
    if (sum > capacity.value) return false;
  }
  return true;
}

}  // namespace koord::scheduler::dra
