#pragma once

// NodeSearch: finds the node for one pod: PreFilter, Filter over all nodes, Score, selection.
//
// All nodes are considered unless percentageOfNodesToScore asks for fewer. The feasible nodes,
// their scores and the text of a failure equal those of evaluating every plugin on every node. Kept
// results of the pod's class (pod_class.h) only make it faster. Ties are broken by the seeded
// Random.

#include <string>
#include <vector>

#include "scheduler/framework/attempt_timer.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/extender_verdicts.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/pod_class.h"
#include "scheduler/framework/search_scope.h"

namespace koord::scheduler {

struct SearchResult {
  Status status;  // Success; a rejection with a diagnosis; or an error
  NodeId node = kNoNode;
  std::size_t feasible = 0;
  std::size_t evaluated = 0;
  Diagnosis diagnosis;
};

// Scores of some nodes, plugin by plugin: values[p][n] are weighted and normalised.
struct ScoreTable {
  std::vector<std::string> plugins;
  std::vector<NodeId> nodes;
  std::vector<std::vector<std::int64_t>> values;
  std::vector<std::int64_t> totals;
};

class NodeSearch {
 public:
  // percentage: share of the nodes that is enough to be scored; 0 or 100 = all.
  NodeSearch(Cluster& cluster, Nominator& nominator, const Profile& profile, Random random,
             std::int32_t percentage);

  // Runs a whole search for the pod. Changes nothing in the cluster.
  SearchResult find(CycleState& state, const PodPtr& pod, const SearchScope& scope = {},
                    const AttemptTimer& timer = {});

  // --- The two halves of a search with scheduler extenders. The extenders are called between them,
  // over HTTP. passing() fills `nodes` with the nodes that pass the filters; its result is not
  // Success if there are none. findAmong() searches again, in the current state, among the nodes
  // that the extenders passed.
  SearchResult filterOnly(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                          NodeSet& nodes);
  SearchResult findAmong(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                         const ExtenderVerdicts& extenders, const AttemptTimer& timer = {});

  // --- For PostFilter plugins and simulations, after find() or prepare() with the same state.
  // Runs PreFilter only. The result is not Success if PreFilter rejects the pod.
  SearchResult prepare(CycleState& state, const PodPtr& pod);
  // The verdict on one node with its nominated pods counted, in the current state of the cluster
  // (including the changes of a simulation). Success, a rejection with its plugin, or Error if a
  // plugin failed.
  Status filterNode(CycleState& state, const PodPtr& pod, NodeId node);
  // Runs every plugin on every one of the nodes; kept results are not used.
  Status filterNodes(CycleState& state, const PodPtr& pod, NodeSet& nodes, Verdicts& verdicts);
  // All plugins that reject each of the nodes, not only the first: masks of positions in the
  // profile's filters, in the order of the nodes.
  Result<std::vector<PluginMask>> rejectingPlugins(CycleState& state, const PodPtr& pod,
                                                   const NodeSet& nodes);
  Result<ScoreTable> scoreNodes(CycleState& state, const PodPtr& pod,
                                std::span<const NodeId> nodes);

  // The class of the attempt's pod if verdicts on nodes depend only on it, the node, the pods
  // nominated there and admitKey(); nullptr if another plugin affects them.
  std::shared_ptr<const PodClass> decidingClass(const CycleState& state) const;
  // The state that the Admit plugins' answers depend on (AdmitPlugin::admitKey); nullopt if a
  // plugin has no such key.
  std::optional<std::string> admitKey(const PodInfo& pod) const;

  const Profile& profile() const { return profile_; }
  // Names for Rejection::plugin: the profile's filters, then "Extender".
  std::span<const std::string> filterNames() const { return filterNames_; }
  std::size_t classes() const { return classes_.size(); }

 private:
  // The search's own state of one attempt.
  struct Attempt {
    std::shared_ptr<PodClass> podClass;
    PluginMask skipFilter = 0;
    bool restricted = false;
    NodeSet allowed;      // if restricted
    Status absentStatus;  // of a plan
    NodeSet declined;     // nodes for which PreFilter plugins rejected the pod
    Status declinedStatus;
    std::vector<std::string> restrictedBy;  // PreFilter plugins
    const NodeSet* among = nullptr;         // of the scope
    std::vector<NodeId> preferred;          // of the scope and the planner
    NodeId favored = kNoNode;               // of the scope
    Cluster::PodsOnNodes hidden;            // pods that this pod does not see (ViewPlugin)

    bool allows(NodeId node) const {
      return (!restricted || allowed.contains(node)) && (!among || among->contains(node));
    }
    // All nodes in question.
    NodeSet of(const NodeSet& live) const {
      NodeSet nodes = restricted ? allowed : live;
      if (among) nodes.intersect(*among);
      return nodes;
    }
  };
  static constexpr std::string_view kAttempt = "koord.scheduler/attempt";
  static constexpr std::string_view kOutOfScope =
      "node(s) are not in the domain that was tried for the pod's group";
  static constexpr std::string_view kNoNodes = "no nodes available to schedule pods";

  SearchResult findAmongTimed(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                              const ExtenderVerdicts& extenders);
  // Runs a search; an exception becomes its result.
  template <class Search>
  SearchResult concluded(const CycleState& state, const AttemptTimer& timer, Search&& search);
  SearchResult findTimed(CycleState& state, const PodPtr& pod, const SearchScope& scope);
  Attempt* begin(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                 SearchResult& result);
  Status applyPlan(PlanPlugin& planner, CycleState& state, const PodPtr& pod, Attempt& attempt);
  bool runPreFilter(CycleState& state, const PodPtr& pod, Attempt& attempt, SearchResult& result);
  struct PreFilterSoFar {
    PluginMask skipped = 0;
    Status remembered;                      // a rejection after which the other plugins still run
    std::vector<PreFilterResult> declined;  // for all nodes but the named ones
  };
  bool take(const PreFilterResult& answer, std::size_t position, Attempt& attempt,
            PreFilterSoFar& soFar, SearchResult& result);
  // The pods that this pod does not see (ViewPlugin).
  Cluster::PodsOnNodes hiddenFrom(const PodInfo& pod) const;
  // Skips the filters of PreFilter plugins that have nothing to do.
  void skipFilters(const PodInfo& pod, std::uint64_t skippedPreFilters, Attempt& attempt) const;
  // Keeps only nodes that a PreFilter plugin names. Not Success if none is left.
  Status restrictTo(const std::vector<std::string>& names, const std::string& plugin,
                    Attempt& attempt);
  static Status absentStatusOf(const Attempt& attempt);
  // Handles a plugin that rejects all nodes but the named ones. False if it names none that is
  // left; nothing is changed then.
  bool declineOthers(const PreFilterResult& answer, Attempt& attempt) const;
  NodeSet nodesNamed(const std::vector<std::string>& names) const;
  bool tryNominated(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                    SearchResult& result);
  bool tryNode(CycleState& state, const PodPtr& pod, const Attempt& attempt, NodeId node,
               SearchResult& result);
  Status filterAll(CycleState& state, const PodPtr& pod, const Attempt& attempt, NodeSet& nodes);
  Status findFeasible(CycleState& state, const PodPtr& pod, Attempt& attempt, NodeSet& feasible,
                      bool& fast);
  Status dropNominated(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                       NodeSet& feasible, Verdicts* verdicts);
  bool nominatedForGroup(const PodInfo& pod, NodeId node) const;
  Status dropOne(CycleState& state, const PodPtr& pod, NodeId node, NodeSet& feasible,
                 Verdicts* verdicts);
  Status filterOn(CycleState& state, const PodPtr& pod, const Attempt& attempt, NodeSet& nodes,
                  Verdicts* verdicts, bool signedToo);
  Status filterSeen(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                    const NodeView& view, NodeSet& nodes, Verdicts* verdicts, bool signedToo);
  void limitFeasible(NodeSet& feasible);
  // Returns true if a plugin that is not Signed has scores for this pod.
  bool hasOtherScores(const PodInfo& pod) const;
  Status pick(CycleState& state, const PodPtr& pod, Attempt& attempt, const NodeSet& feasible,
              bool fast, SearchResult& result);
  Status choose(CycleState& state, const PodPtr& pod, Attempt& attempt, const NodeSet& feasible,
                bool fast, SearchResult& result);
  // The best node by NodeParts, if all plugins concerned have them; otherwise kNoNode.
  NodeId pickByParts(const PodInfo& pod, ClassNodes& kept, const NodeSet& feasible, NodeId favored);
  // The node with the highest of `totals_`, which are those of `list_`; of equals the favored node,
  // else a random one.
  NodeId bestOfList(NodeId favored);
  Status prepareScores(PodClass& podClass, const PodInfo& pod);
  void findSharedRules(PodClass& podClass, const PodInfo& pod) const;
  // Adds weighted scores of the plugins that are not Signed.
  Status addOtherScores(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
                        std::span<std::int64_t> totals, ScoreTable* table);
  const CycleState& stateFor(const Signed* signedPlugin, const CycleState& state,
                             const Attempt& attempt) const {
    return signedPlugin ? attempt.podClass->state : state;
  }
  void describe(const Attempt& attempt, const Verdicts& verdicts, Diagnosis& diagnosis) const;

  Cluster& cluster_;
  Nominator& nominator_;
  const Profile& profile_;
  Random random_;
  std::int32_t percentage_;
  PodClasses classes_;
  PluginMask otherFilters_ = 0;  // positions of plugins that are not Signed
  PluginMask otherPreFilters_ = 0;
  std::vector<ScorePlugin*> otherScores_;
  std::vector<std::string> filterNames_;
  std::vector<std::size_t> preFilterOf_;  // by filter position: its PreFilter's position, or npos
  NodeId startNode_ = 0;
  AttemptTimer timer_;
  ClassNodes::Scratch scratch_;
  Verdicts verdicts_;  // of attempts for which the class's verdicts are incomplete
  std::vector<NodeId> list_;
  std::vector<std::int64_t> totals_;
};

// The number of feasible nodes that is enough. percentage 0 or 100 = all of them.
std::size_t nodesToFind(std::size_t nodes, std::int32_t percentage);

}  // namespace koord::scheduler
