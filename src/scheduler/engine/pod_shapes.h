#pragma once

// PodShapes: pods of one template differ in little more than their names. A shape is a number for
// everything that they have in common. Values that follow from the shape alone (amounts, demands,
// estimates, the class of pods) are computed for one of the pods and looked up for the others
// (ByShape).
//
// A shape covers: namespace, labels, annotations, owners, node selector, tolerations, priority and
// its class, hostNetwork, hostUsers, and of containers the fields that matter before they run:
// name, image, ports, resources, restart policy. It does not cover: name, uid, times, status,
// volumes, gates, spread constraints, the scheduler's name, the node's name.
//
// A shape is found by a hash of a few of these fields and a comparison of all. The second pod with
// a hash creates the shape, so that a unique pod costs only the hash. These pods have no shape:
// those with affinity, overhead, pod-level resources, claims, a scheduling group, image volumes,
// containers that are being resized or have restart rules, or very large fields. Not thread-safe.

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/pod.h"

namespace koord::scheduler {

struct PodInfo;

using ShapeId = std::uint64_t;  // 0: none; never reused

class PodShapes {
 public:
  // The maximum number of shapes at a time.
  static constexpr std::size_t kMaxShapes = 4096;

  PodShapes();
  ~PodShapes();
  PodShapes(const PodShapes&) = delete;
  PodShapes& operator=(const PodShapes&) = delete;

  struct Shape {
    ShapeId id = 0;
    // The part of PodInfo that all its pods share, without the pod; nullptr until a caller sets it.
    std::shared_ptr<const PodInfo> common;
  };
  // nullptr if the pod has no shape. Valid until the next call.
  Shape* of(const api::Pod& pod);
  std::size_t size() const { return shapes_.size(); }

 private:
  struct Entry;  // the common fields of the shape's pods, and the shape
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>> shapes_;  // by hash
  std::array<std::uint32_t, 1024> seen_{};                                 // parts of hashes
  ShapeId last_ = 0;
};

// Values that follow from shapes, computed for one pod of each. For a pod without a shape the value
// is kept until another such pod is looked up. Slots are indexed by shape modulo kMaxShapes: a
// shape that was created kMaxShapes shapes later replaces the value.
template <class T>
class ByShape {
 public:
  // Returns the value for this pod's shape, computed by make() on first use. Valid until the next
  // call for another pod. Pod: a PodInfo.
  template <class Pod, class Make>
  const T& of(const Pod& pod, Make&& make) {
    const T* const known = find(pod);
    return known ? *known : compute(pod, std::forward<Make>(make));
  }
  // nullptr if there is no value for the pod's shape.
  template <class Pod>
  const T* find(const Pod& pod) const {
    const std::size_t at = pod.shape % PodShapes::kMaxShapes;
    if (at >= slots_.size() || !slots_[at] || slots_[at]->shape != pod.shape) return nullptr;
    return &slots_[at]->value;
  }
  void clear() {
    slots_.clear();
    lastPod_ = nullptr;
  }

 private:
  struct Slot {
    ShapeId shape = 0;  // never 0
    T value;
  };
  // Rarely called; not inlined into the caller.
  template <class Pod, class Make>
  [[gnu::noinline]] const T& compute(const Pod& pod, Make&& make) {
    if (pod.shape == 0) {
      if (lastPod_ && lastPod_ == pod.pod) return single_;
      single_ = make();
      lastPod_ = pod.pod;
      return single_;
    }
    auto slot = std::make_unique<Slot>(Slot{pod.shape, make()});
    const std::size_t at = pod.shape % PodShapes::kMaxShapes;
    if (at >= slots_.size()) slots_.resize(at + 1);
    slots_[at] = std::move(slot);
    return slots_[at]->value;
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::shared_ptr<const api::Pod> lastPod_;
  T single_{};
};

}  // namespace koord::scheduler
