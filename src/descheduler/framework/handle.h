#pragma once

// What plugins are given. It outlives them.

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

// The way from a plugin of a profile to its filter and evict plugins, with the limits of the cycle
// (eviction_limiter.h) in between.
class Evictor {
 public:
  virtual ~Evictor() = default;
  // All filter plugins, in their order, until one says no.
  virtual bool filter(const Pod& pod) = 0;
  virtual bool preEvictionFilter(const Pod& pod) = 0;
  // True when the pod was evicted, or is going to be (a job was made); in a dry run, when it would be. Asks no
  // filter: callers do. What happened is logged, counted, and kept in the journal.
  virtual Task<bool> evict(PodPtr pod, EvictOptions options) = 0;
  // Whether somebody moves the pod already, though the pod does not show it yet.
  virtual bool evicting(const Pod&) const { return false; }
  // How many more evictions the limits of this cycle leave for pods of the node; to stop early.
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
  events() = 0;  // reaches the API server; component: the profile's name
  virtual Metrics& metrics() = 0;
  virtual Evictor& evictor() = 0;  // of the profile
  // The profile's name; for a plugin that all profiles share, that of the first.
  virtual const std::string& profile() const = 0;
  virtual bool dryRun() const = 0;        // of the whole program
  virtual Duration interval() const = 0;  // between cycles; 0 = there is one cycle
  virtual bool gate(std::string_view feature) const = 0;
  // The component's client, for calls to other programs (koord-scheduler); null in tests.
  virtual net::HttpTransport* http() = 0;
  // Ready nodes within the program's and the profile's selectors, with their pods, as they are now.
  virtual Nodes nodes() const = 0;
};

}  // namespace koord::descheduler
