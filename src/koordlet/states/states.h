#pragma once

// The current state of koordlet's node: the Node object, the effective NodeSLO, the pods. Each part
// has one writer (informers.h, pod_poller.h); other components read it and may register callbacks
// for changes. Callbacks run in the order in which they were added, on the actor's thread.

#include <functional>
#include <memory>
#include <vector>

#include "api/core.h"
#include "koordlet/devices/gpu_reader.h"
#include "koordlet/states/node_slo.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

// The last reading of the GPUs, and since when reading fails, if it does.
struct GpuState {
  std::optional<GpuReading> reading;  // none before the first success
  std::string problem;                // empty while reading works
  SteadyTime problemSince{};
};

class States {
 public:
  // Empty and not synced until the first list.
  const std::vector<PodView>& pods() const { return pods_; }
  bool podsSynced() const { return podsSynced_; }
  const PodView* podOf(std::string_view uid) const;
  // nullptr until the object is known.
  const std::shared_ptr<const api::Node>& node() const { return node_; }
  // nullptr until a NodeSLO is known; a deleted one stays in force.
  const EffectiveSlo* slo() const { return slo_ ? &*slo_ : nullptr; }

  const GpuState& gpus() const { return gpus_; }

  // Version numbers of the pods and of the NodeSLO. A cache of values that depend on them compares
  // versions to know when to recompute.
  struct Versions {
    std::uint64_t pods = 0, slo = 0;
    bool operator==(const Versions&) const = default;
  };
  const Versions& versions() const { return versions_; }

  void setPods(std::vector<PodView> pods);
  void setNode(std::shared_ptr<const api::Node> node);
  void setSlo(EffectiveSlo slo);
  void setGpus(Result<GpuReading> reading, SteadyTime now);

  void onPods(std::function<void()> fn) { podsFns_.push_back(std::move(fn)); }
  void onNode(std::function<void()> fn) { nodeFns_.push_back(std::move(fn)); }
  void onSlo(std::function<void()> fn) { sloFns_.push_back(std::move(fn)); }

 private:
  using Fns = std::vector<std::function<void()>>;
  static void call(const Fns& fns) {
    for (const auto& fn : fns) fn();
  }

  std::vector<PodView> pods_;
  bool podsSynced_ = false;
  std::shared_ptr<const api::Node> node_;
  std::optional<EffectiveSlo> slo_;
  GpuState gpus_;
  Versions versions_;
  Fns podsFns_, nodeFns_, sloFns_;
};

}  // namespace koord::koordlet
