#pragma once

// The interfaces of koord-descheduler's plugins. A plugin class derives from Plugin and from each
// of the four extension points that it serves. One object serves a profile or, for shared kinds
// (registry.h), all profiles. Everything is called on the component's executor, and each Task is
// awaited before the next call: calls of deschedule, balance and evict in one process never
// overlap. filter and preEvictionFilter do not suspend and may be called at any time, also from
// event handlers.
//
// Lifecycle: a plugin is created when the process starts, also on standbys (which do not call the
// API). start() is called on the leader when all stores are synced, before the first cycle. stop()
// is called when the process shuts down gracefully; then the plugin is destroyed. A process that
// loses the lease ends at once, so start() is never called twice.
//
// A controller is a plugin that works between start() and stop(), in handlers of stores and timers:
//
//   class MigrationController final : public Plugin, public EvictPlugin, public FilterPlugin {
//     // Asks for its stores.
//     explicit MigrationController(Handle& handle, MigrationControllerArgs args);
//     Result<> start() override;  // adds handlers, starts loops in a TaskGroup
//     ...
//   };

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "descheduler/framework/nodes.h"

namespace koord::descheduler {

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  // An error ends the process: "initializing plugin "X": ...". For checks that need the cluster (a
  // priority class that does not exist).
  virtual Result<> start() { return {}; }
  virtual void stop(Callback done) { done(); }
};

// Policies over single pods or nodes. `nodes`: the profile's ready nodes; valid until the task
// ends. An error is logged and counted; the cycle and the profile continue.
class DeschedulePlugin {
 public:
  virtual ~DeschedulePlugin() = default;
  virtual Task<Result<>> deschedule(const Nodes& nodes) = 0;
};

// Policies over groups of nodes; they run after all deschedule plugins of all profiles.
class BalancePlugin {
 public:
  virtual ~BalancePlugin() = default;
  virtual Task<Result<>> balance(const Nodes& nodes) = 0;
};

struct EvictOptions {
  std::string plugin;  // the requesting plugin; the framework sets it if empty
  std::string reason;  // for users; "" = the plugin's name
  // meta/v1 DeleteOptions as JSON; null: the evict plugin's default.
  json::value deleteOptions;
  // Only report what would be done; write nothing.
  bool dryRun = false;
  // Other pods that move with the pod: all of them, or none.
  std::vector<PodPtr> together;
  // The pods move only if a node then accepts this pod, which waits for a node. If it is on one, a
  // further pod like it must be accepted.
  PodPtr beneficiary;
  // Returns why the node is not better for the pod than its present node; "" if it is better. Empty
  // function: every other node is accepted. Called only while the eviction is being decided.
  std::function<std::string(const Pod& pod, const std::string& node)> rejectTarget;
};

// The result of an eviction that was done or started.
struct Evicted {
  std::string node;              // where the pod will be placed, if known
  std::string job;               // the PodMigrationJob, if one was created
  std::vector<PodPtr> together;  // the other pods that are evicted with it
};

// An eviction of an earlier process.
struct PastEviction {
  std::string node;
  std::string namespace_;
};

// Exactly one per profile. Filters may not have run before: an evict plugin repeats its own checks.
// The error says why the pod was not evicted; it is logged, counted and kept in the journal, never
// fatal.
class EvictPlugin {
 public:
  virtual ~EvictPlugin() = default;
  virtual Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) = 0;
  // Returns true if the pod will be evicted, even if the pod itself does not show it yet.
  virtual bool evicting(const Pod&) const { return false; }
  // Returns true if moves that the plugin requested have not ended.
  virtual bool movesPodsOf(std::string_view) const { return false; }
  // The evictions since then, of any process, as far as the cluster's objects show them.
  virtual std::vector<PastEviction> evictedSince(WallTime) const { return {}; }
};

// Decides whether a pod may be evicted. All filters of a profile must agree.
class FilterPlugin {
 public:
  virtual ~FilterPlugin() = default;
  virtual bool filter(const Pod& pod) = 0;
  // For expensive checks, called right before an eviction (whether the pod fits another node).
  virtual bool preEvictionFilter(const Pod&) { return true; }
};

}  // namespace koord::descheduler
