#pragma once

// LoadTable: the load of every node, from NodeMetrics and from the pods that the Cluster counts.
// The estimated load of a pod is a grant of its record (engine/grants.h), so the sums follow every
// move of a pod, in simulations too. Profiles whose arguments agree about estimates share one
// table.

#include <functional>
#include <map>
#include <memory>

#include "scheduler/framework/handle.h"
#include "scheduler/plugins/loadawarescheduling/node_load.h"

namespace koord::scheduler {

class LoadTable final : public LedgerOf<AssignedLoad>, private ClusterListener {
 public:
  // What loads depend on.
  struct Settings {
    LoadResources resources;
    Estimator::Settings estimates;
    bool prodIncludesSystem = false;
  };
  LoadTable(Handle& handle, Settings settings);
  static LoadTable& of(Handle& handle, const LoadAwareSchedulingArgs& args);
  // Of all profiles.
  static const std::vector<std::unique_ptr<LoadTable>>& all(Handle& handle);

  std::string_view name() const override { return "load"; }
  GrantPtr sharedGrant(AssignedLoad load) override { return grantFor(load); }
  const LoadResources& resources() const { return settings_.resources; }
  const Estimator& estimator() const { return estimator_; }

  // nullptr for a node without a NodeMetric.
  const NodeLoad* at(NodeId node) const;
  // nullptr for a node without annotations about its load, which most nodes are.
  const NodeSettings* settingsOf(NodeId node) const;
  // The number of nodes that have a NodeMetric or annotations about their load.
  std::size_t reports() const { return reported_; }
  std::size_t settings() const { return withSettings_; }
  // The node's capacity of the resource for pods.
  std::int64_t capacity(NodeId node, const NodeSettings* settings, std::size_t resource) const;

  // Gives the pod its load on the node where it is counted. Units that are not Pods have no load.
  void assign(const PodInfo& pod);
  // Called when a node's report is added, changed or removed.
  void onReport(std::function<void(NodeId)> fn) { listeners_.push_back(std::move(fn)); }
  // Called when the load of a node may have changed; resized: its capacity or settings may have
  // changed, too.
  using LoadListener = std::function<void(NodeId node, bool resized)>;
  void onLoad(LoadListener fn) { loadListeners_.push_back(std::move(fn)); }
  // Calls fn(pod, load) for the node's pods.
  template <class F>
  void forEachPod(NodeId node, F&& fn) const {
    for (const PodPtr& pod : cluster_.node(node).pods) {
      const auto* record = cluster_.findPod(pod->uid());
      const AssignedLoad* load = record ? in(record->grants) : nullptr;
      if (load) fn(*pod, *load);
    }
  }

 private:
  const GrantPtr& grantFor(const AssignedLoad& load);
  struct Row {
    std::unique_ptr<NodeSettings> settings;
    NodeLoad load;
    std::string name;  // of the node that the report is for
  };
  std::optional<AssignedLoad> readValue(const PodInfo& pod, NodeId node,
                                        const AssignedLoad* held) override;
  bool unchangedValue(const PodInfo& pod, const AssignedLoad& held) const override;
  void addValue(NodeId node, const PodInfo& pod, const AssignedLoad& load) override;
  void removeValue(NodeId node, const PodInfo& pod, const AssignedLoad& load) override;
  std::string verifyValues(NodeId node, Held held) const override;
  void podAdded(NodeId, const PodPtr&) override {}
  void podRemoved(NodeId, const PodPtr&) override {}
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId node) override;
  void allocatableChanged(NodeId node) override { notifyLoad(node, true); }

  Row& row(NodeId node);
  // Reads the NodeMetric of the node's name, if there is one.
  void report(NodeId node);
  void changed(NodeId node, const NodeLoad& before);
  void notifyLoad(NodeId node, bool resized = false) const {
    for (const auto& fn : loadListeners_) fn(node, resized);
  }

  // Where a problem is: in the node's annotations or in its report.
  enum class Source : std::uint8_t { Node, Report };
  void notifyReport(NodeId node, const LoadReport& report, WallTime now);
  // Reports a problem once, and again only if it changes; "": the problem is solved.
  void reportProblem(NodeId node, Source source, const api::ResourceType& type,
                     const api::ObjectMeta& about, std::string text);

  Handle& handle_;
  Cluster& cluster_;
  Executor& executor_;
  Store<LoadReport>& reports_;
  Settings settings_;
  Estimator estimator_;
  AssignedLoad lastLoad_;  // the load that last_ is for
  GrantPtr last_;
  std::vector<ResourceId> ids_;  // of the resources
  std::vector<Row> rows_;        // by node
  std::size_t reported_ = 0;
  std::size_t withSettings_ = 0;
  std::vector<std::function<void(NodeId)>> listeners_;
  std::vector<LoadListener> loadListeners_;
  std::map<std::pair<NodeId, Source>, std::string> reportedProblems_;  // while the problem persists
};

}  // namespace koord::scheduler
