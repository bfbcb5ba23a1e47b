#pragma once

// Which pods a pod without spread constraints of its own is spread among: those that the Services
// selecting it and the object owning it select.

#include <map>

#include "api/selector.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

class PodSpreadDefaults {
 public:
  // Listens to the stores, which must outlive it, as it must outlive their changes.
  explicit PodSpreadDefaults(Stores& stores);
  // Empty when nothing selects or owns the pod.
  api::Selector selectorFor(const api::Pod& pod) const;

 private:
  using Services = std::map<std::string, api::StringMap>;  // selectors by name

  const Stores& stores_;
  // By namespace; shared with the listener, which may live longer.
  std::shared_ptr<std::unordered_map<std::string, Services>> services_;
};

}  // namespace koord::scheduler
