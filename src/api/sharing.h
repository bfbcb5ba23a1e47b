#pragma once

// Shares equal parts of many objects. The pods of a workload have the same labels, owner and
// containers, and the GPUs of a node the same amounts; these parts are most of the memory of a
// hundred thousand pods. A component that keeps many objects shares their parts first
// (kube/informer.h, setTransform).
//
// Parts are equal if their text is equal: 1Gi and 1073741824 differ. Sharing a part costs one walk
// over it and a look-up. Unused parts are dropped when the number of parts has doubled. One thread;
// shared parts may go to other threads.

#include <cstddef>
#include <memory>

#include "api/pod.h"

namespace koord::api {

// Parts of one type: StringMap, ResourceList, Text, Boxed<Affinity> and the lists of PodSharing.
template <class Part>
class Sharing {
 public:
  Sharing();
  Sharing(Sharing&&) noexcept;
  ~Sharing();

  // Makes `part` share its items with all equal parts.
  void share(Part& part);
  // The number of distinct parts, including unused parts that are not dropped yet.
  std::size_t size() const;

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

class PodSharing {
 public:
  void share(Pod& pod);

 private:
  Sharing<Text> words_;
  Sharing<StringMap> texts_;
  Sharing<List<OwnerReference>> owners_;
  Sharing<List<Container>> containers_;
  Sharing<List<Volume>> volumes_;
  Sharing<List<Toleration>> tolerations_;
  Sharing<List<TopologySpreadConstraint>> constraints_;
  Sharing<Boxed<Affinity>> affinities_;
  Sharing<List<PodCondition>> conditions_;
  Sharing<ResourceList> amounts_;
};

}  // namespace koord::api
