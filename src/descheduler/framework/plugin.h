#pragma once

// What a plugin of koord-descheduler is. One object derives from Plugin and from as many of the four points as
// it serves; one object serves a profile, or, for kinds that are shared (registry.h), all profiles. Everything is
// called on the component's executor, and what is a Task is awaited before the next is called: no two calls of
// deschedule, balance or evict of one process overlap. filter and preEvictionFilter do not suspend and may be
// called at any time, also from event handlers.
//
// The life of a plugin: it is made when the process starts, on standbys too (no calls to the API there); start()
// on the leader when all stores are in, before the first cycle; stop() when the process ends in good order;
// then it is destroyed. A process that loses the lease ends at once, so nothing is ever started twice.
//
// A controller is a plugin that does its work between start() and stop(), from handlers of stores and timers:
//
//   class MigrationController final : public Plugin, public EvictPlugin, public FilterPlugin {
//     explicit MigrationController(Handle& handle, MigrationControllerArgs args);  // asks for its stores here
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
  // An error ends the process: "initializing plugin "X": ...". For what can only be said with the cluster at
  // hand (a priority class that does not exist).
  virtual Result<> start() { return {}; }
  virtual void stop(Callback done) { done(); }
};

// Policies over single pods or nodes. `nodes`: those of the profile that are ready; it lives until the task ends.
// An error is logged and counted and ends neither the cycle nor the profile.
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
  std::string plugin;  // who wants it; filled in by the framework where it is empty
  std::string reason;  // for people; "" = the plugin's name
  // meta/v1 DeleteOptions as JSON; null: the evict plugin's default.
  json::value deleteOptions;
  // Look, and write nothing: say what would be done.
  bool dryRun = false;
  // Why the pod would be no better off on the node than where it is; "" = it would be. Null: any other
  // place will do. Called while the eviction is being decided, and not later.
  std::function<std::string(const Pod& pod, const std::string& node)> noBetter;
};

// What became of an eviction that was carried out, or begun.
struct Evicted {
  std::string node;              // where the pod is going to land, where that is known
  std::string job;               // the PodMigrationJob, where one was made
  std::vector<PodPtr> together;  // the others of its gang, which go with it
};

// One of a process that was there before.
struct EarlierEviction {
  std::string node;
  std::string namespace_;
};

// Exactly one per profile. No filter was asked before: an evict plugin repeats its own. The error says for
// people why nothing was done; it is logged, counted and kept with the pod (Journal), never fatal.
class EvictPlugin {
 public:
  virtual ~EvictPlugin() = default;
  virtual Task<Result<Evicted>> evict(PodPtr pod, EvictOptions options) = 0;
  // Whether the pod is going to leave, though it does not show it yet.
  virtual bool evicting(const Pod&) const { return false; }
  // What began since then, whichever process began it, as far as the cluster says so.
  virtual std::vector<EarlierEviction> evictedSince(WallTime) const { return {}; }
};

// Whether a pod may be evicted at all. All filters of a profile must agree.
class FilterPlugin {
 public:
  virtual ~FilterPlugin() = default;
  virtual bool filter(const Pod& pod) = 0;
  // What is worth asking only right before an eviction (whether the pod fits elsewhere).
  virtual bool preEvictionFilter(const Pod&) { return true; }
};

}  // namespace koord::descheduler
