#pragma once

// The framework's interface for plugins. Must outlive them.

#include <string>
#include <string_view>

#include "descheduler/framework/plugin.h"
#include "descheduler/framework/stores.h"
#include "kube/api.h"
#include "kube/events.h"

namespace koord::net {
class HttpTransport;
}

namespace koord::descheduler {

class Metrics;

// Gives a profile's plugins access to its filter and evict plugins, and applies the limits of the
// cycle (eviction_limiter.h).
class Evictor {
 public:
  virtual ~Evictor() = default;
  // Runs all filter plugins in order. Returns false as soon as one refuses the pod.
  virtual bool filter(const Pod& pod) = 0;
  virtual bool preEvictionFilter(const Pod& pod) = 0;
  // Returns true if the pod was evicted, or will be (a job was created), or would be in a dry run.
  // Does not run filters: callers do. The result is logged, counted and kept in the journal.
  virtual Task<bool> evict(PodPtr pod, EvictOptions options) = 0;
  // Returns true if the pod is already being moved, even if the pod itself does not show it yet.
  virtual bool evicting(const Pod&) const { return false; }
  // Returns true if moves that the plugin requested have not ended.
  virtual bool movesPodsOf(std::string_view) const { return false; }
  // Returns true if pods were moved recently, for any profile, so that this pod gets a node.
  virtual bool helped(const Pod&) const { return false; }
  // Returns true if the limits of this cycle allow no more evictions of the node's pods.
  virtual bool nodeExhausted(std::string_view node) const = 0;
};

class Handle {
 public:
  virtual ~Handle() = default;
  virtual kube::Api& api() = 0;
  virtual Executor& executor() = 0;  // also the clock
  virtual Random& random() = 0;
  virtual Stores& stores() = 0;
  virtual kube::EventRecorder&
  events() = 0;  // written to the API server; component: the profile's name
  virtual Metrics& metrics() = 0;
  virtual Evictor& evictor() = 0;  // of the profile
  // The profile's name; for a shared plugin, that of the first profile.
  virtual const std::string& profile() const = 0;
  virtual bool dryRun() const = 0;        // of the whole program
  virtual Duration interval() const = 0;  // between cycles; 0 = there is one cycle
  virtual bool gate(std::string_view feature) const = 0;
  // A plugin works on the drain of a node in this cycle, or would without its dryRun: the framework
  // does not release the node (drained_nodes.h).
  virtual void keepDraining(const std::string& node) = 0;
  // The component's HTTP client, for calls to other programs (koord-scheduler); nullptr in tests.
  virtual net::HttpTransport* http() = 0;
  // Ready nodes within the program's and the profile's selectors, with their pods, in their present
  // state.
  virtual Nodes nodes() const = 0;
};

}  // namespace koord::descheduler
