#pragma once

// PodShapes: pods that were made from one template say the same about all but their names. A shape is the
// number of what they say; what follows from it alone (amounts, demands, estimates, the class of pods) is
// worked out for one of them and looked up for the others (ByShape).
//
// A shape stands for: namespace, labels, annotations, owners, node selector, tolerations, priority and its
// class, hostNetwork, hostUsers, and of containers what matters before they run: name, image, ports, resources, restart
// policy. It does not say: name, uid, times, status, volumes, gates, spread constraints, the scheduler's name,
// the node's name.
//
// It is found by a hash of a few of these and by comparing all. The second pod that has the hash makes the
// shape, so that pods that are like no other cost nothing but the hash. Pods with affinity, overhead, amounts
// for the whole pod, claims, a scheduling group, volumes that are images, containers that are being resized
// or have restart rules, or a lot to say, have none. Not thread-safe.

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/pod.h"

namespace koord::scheduler {

struct PodInfo;

using ShapeId = std::uint64_t;  // 0: none; never given twice

class PodShapes {
 public:
  // Of this many there is more than a number at a time.
  static constexpr std::size_t kMost = 4096;

  PodShapes();
  ~PodShapes();
  PodShapes(const PodShapes&) = delete;
  PodShapes& operator=(const PodShapes&) = delete;

  struct Shape {
    ShapeId id = 0;
    // What the engine reads of its pods, without the pod; nullptr until somebody has put it here.
    std::shared_ptr<const PodInfo> common;
  };
  // nullptr: it has none. Good until the next call.
  Shape* of(const api::Pod& pod);
  std::size_t size() const { return shapes_.size(); }

 private:
  struct Entry;  // what pods of the shape say, and the shape
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>> shapes_;  // by hash
  std::array<std::uint32_t, 1024> seen_{};                                 // parts of hashes
  ShapeId last_ = 0;
};

// What follows from shapes, worked out for one pod of each; for a pod without a shape, as long as it is that
// pod alone that is asked about. Slots are by number: a shape that was given kMost numbers later takes the
// place of this one.
template <class T>
class ByShape {
 public:
  // make(): what follows, for this pod. Good until another pod is asked about. Pod: a PodInfo.
  template <class Pod, class Make>
  const T& of(const Pod& pod, Make&& make) {
    const T* const known = find(pod);
    return known ? *known : workOut(pod, std::forward<Make>(make));
  }
  // nullptr: it has not been worked out for the pod's shape.
  template <class Pod>
  const T* find(const Pod& pod) const {
    const std::size_t at = pod.shape % PodShapes::kMost;
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
  // Seldom called, and not made part of who asks.
  template <class Pod, class Make>
  [[gnu::noinline]] const T& workOut(const Pod& pod, Make&& make) {
    if (pod.shape == 0) {
      if (lastPod_ && lastPod_ == pod.pod) return lone_;
      lone_ = make();
      lastPod_ = pod.pod;
      return lone_;
    }
    auto slot = std::make_unique<Slot>(Slot{pod.shape, make()});
    const std::size_t at = pod.shape % PodShapes::kMost;
    if (at >= slots_.size()) slots_.resize(at + 1);
    slots_[at] = std::move(slot);
    return slots_[at]->value;
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::shared_ptr<const api::Pod> lastPod_;
  T lone_{};
};

}  // namespace koord::scheduler
