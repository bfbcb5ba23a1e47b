#pragma once

// DemandSketch: how often pods ask for what, learnt from the cluster's pods, in bounded memory.
//
// Pods that ask for the same and may run on the same nodes are of one class. The sketch counts the
// pods of the most frequent classes. The algorithm is Space-Saving: a new class takes the place and
// the count of the rarest (Metwally, Agrawal, El Abbadi, ICDT 2005). When kDecayAt pods are
// counted, all counts are halved, so that demand of long ago fades. It uses no clock and no random
// numbers: the result follows from the sequence of pods.
//
// Cost: O(1) for a pod of a known class, O(kClasses) for a new one when the sketch is full.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/pod.h"
#include "scheduler/framework/gpu_capacity.h"

namespace koord::scheduler {

// What a pod asks of its node.
struct PodAsk {
  std::int32_t cpu = 0;     // milli-CPUs
  std::int32_t memory = 0;  // MiB
  GpuRequest gpus;
};

class DemandSketch {
 public:
  static constexpr std::size_t kClasses = 512;
  static constexpr std::int64_t kDecayAt = 16384;

  struct Class {
    std::string key;
    PodAsk ask;
    std::shared_ptr<const api::Pod> example;  // says on which nodes such pods may run
    std::int64_t count = 0;
  };

  // Equal keys: equal ask and equal constraints on nodes.
  void observe(const std::string& key, const PodAsk& ask,
               const std::shared_ptr<const api::Pod>& example);
  // The most frequent classes with (or without) GPUs, at most `limit`, until they cover 95 % of
  // such pods.
  std::vector<Class> frequent(bool withGpus, std::size_t limit) const;
  std::size_t size() const { return classes_.size(); }
  // The share of pods that ask for something else, in thousandths: half of the sum of the
  // differences of all classes' shares.
  static std::int64_t distance(const std::vector<Class>& a, const std::vector<Class>& b);

 private:
  std::size_t freePlace();
  void decay();

  std::vector<Class> classes_;
  std::unordered_map<std::string, std::size_t> places_;  // by key
  std::int64_t total_ = 0;
};

}  // namespace koord::scheduler
