#include "model/resources.h"

#include "model/well_known.h"

namespace koord::model {

std::string_view resourceNameOf(PriorityClass priorityClass, std::string_view native) {
  switch (priorityClass) {
    case PriorityClass::None:
    case PriorityClass::Prod:
      return native;
    case PriorityClass::Batch:
      return native == kCpu ? kBatchCpu : native == kMemory ? kBatchMemory : std::string_view();
    case PriorityClass::Mid:
      return native == kCpu ? kMidCpu : native == kMemory ? kMidMemory : std::string_view();
    case PriorityClass::Free:
      return {};
  }
  return {};
}

Quantity translateAmount(std::string_view native, const Quantity& amount) {
  return native == kCpu ? Quantity::of(amount.milliValue()) : amount;
}

Quantity amountOf(const api::ResourceList& list, std::string_view name) {
  const auto it = list.find(name);
  return it == list.end() ? Quantity() : it->second;
}

bool has(const api::ResourceList& list, std::string_view name) {
  return list.find(name) != list.end();
}

void addTo(api::ResourceList& sum, const api::ResourceList& list) {
  for (const auto& [name, amount] : list) sum[name].add(amount);
}

}  // namespace koord::model
