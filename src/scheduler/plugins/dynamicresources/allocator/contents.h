#pragma once

// Contents of slices. Nodes of one model publish slices that differ in their names and node only.
// Slices with equal devices share one SliceContent, and devices with equal attributes and capacity
// share one DeviceContent, so that selectors are evaluated once for all these nodes and memory does
// not grow with their number. Not thread-safe.

#include <boost/unordered/unordered_flat_map.hpp>

#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

namespace koord::scheduler::dra {

using SlicePtr = std::shared_ptr<const api::ResourceSlice>;

struct Device {
  std::shared_ptr<const DeviceContent> content;
  const api::SliceDevice* object = nullptr;  // of the slice's origin
  const std::string& name() const { return object->name; }
};

struct SliceContent {
  SlicePtr origin;  // one of the slices with this content
  std::vector<Device> devices;
  bool bindingConditions = false;  // of some device
  bool counters = false;           // some device consumes some
};

class Contents {
 public:
  std::shared_ptr<const SliceContent> of(const SlicePtr& slice);

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;
  std::shared_ptr<const DeviceContent> contentOf(const std::string& driver,
                                                 const api::SliceDevice& device);
  void dropExpired();

  boost::unordered_flat_map<Hash, std::weak_ptr<const SliceContent>> slices_;
  boost::unordered_flat_map<Hash, std::weak_ptr<const DeviceContent>> devices_;
  std::size_t dropExpiredAt_ = 1024;  // entries, of which many may have expired
};

}  // namespace koord::scheduler::dra
