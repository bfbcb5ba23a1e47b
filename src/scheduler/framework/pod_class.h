#pragma once

// Pod classes: a class is a set of pods that all Signed plugins of a profile judge alike, with
// those plugins' answers for every node. Most pods of a cluster come from few templates, and
// placing a pod changes one node. So an attempt for a known class calls the plugins for the few
// nodes that changed since the class was last used, instead of for all.

#include <boost/container/small_vector.hpp>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/narrow_column.h"
#include "scheduler/engine/score_index.h"
#include "scheduler/framework/attempt_timer.h"
#include "scheduler/framework/profile.h"

namespace koord::scheduler {

class ClassNodes;
class NominatedNodes;

struct PodClass {
  explicit PodClass(std::string signatureBytes);
  ~PodClass();
  // Drops all results for nodes; they are recomputed.
  void forgetNodes();

  std::string signature;
  CycleState state;  // of Signed plugins
  // PreFilter results of Signed plugins, by position; empty for other plugins.
  std::vector<PreFilterResult> preFilter;
  std::vector<std::uint64_t> preFilterEpochs;
  // Of these, the positions that returned Skip, and those that returned anything but Skip or plain
  // Success.
  PluginMask preFilterSkipped = 0;
  PluginMask preFilterReported = 0;
  bool hasView = false;  // some plugin gives the class credits
  bool scorePrepared = false;
  Status preScore;           // the first failure of a Signed plugin's PreScore
  PluginMask skipScore = 0;  // Signed Score plugins with nothing to score
  // Positions of Signed Score plugins and of the plugins whose rule they share
  // (ScorePlugin::scoreAlias).
  boost::container::small_vector<std::pair<std::size_t, std::size_t>, 1> sharedRules;
  std::unique_ptr<ClassNodes> nodes;  // absent until the class is asked for all nodes
  // By priority of the pods that were searched.
  std::map<std::int32_t, std::unique_ptr<NominatedNodes>> nominated;
};

// The Signed plugins' verdicts and scores for all nodes, updated on demand.
class ClassNodes {
 public:
  // Buffers without meaning between two calls; shared by all classes.
  struct Scratch {
    NodeSet changed;
    NodeSet left;
    std::vector<NodeId> list;
    std::vector<std::int64_t> scores;  // of one plugin
    std::vector<std::int64_t> totals;
  };
  ClassNodes(Cluster& cluster, const Profile& profile, PodClass& podClass, Scratch& scratch);

  // Runs Signed filters on nodes that changed. After an error everything is recomputed by the next
  // call.
  Status sync(const PodInfo& pod, PluginMask skipFilter, const AttemptTimer& timer = {});
  const NodeSet& feasible() const { return feasible_; }
  // The view of the class's pods.
  const NodeView& view() const { return view_; }
  std::size_t feasibleCount() const { return feasibleCount_; }
  const Verdicts& verdicts() const { return verdicts_; }

  // Runs Signed scores on feasible nodes that changed.
  Status syncScores(const PodInfo& pod, const AttemptTimer& timer = {});
  // The best of all feasible nodes by Signed scores alone.
  std::optional<ScoreIndex::Best> best(Random& random) { return totals_.best(random); }
  // The kept total of a feasible node.
  std::int64_t totalOf(NodeId node) const { return totals_.at(node); }
  // Returns true if the kept totals are right for these (feasible) nodes alone. They are if the
  // highest scores are among them.
  bool sameScale(const NodeSet& nodes) const;
  // Requires sameScale(nodes):
  ScoreIndex::Top top(const NodeSet& nodes) { return totals_.top(&nodes); }
  NodeId nth(const ScoreIndex::Top& top, std::size_t position, const NodeSet& nodes) const {
    return totals_.nth(top.total, position, &nodes);
  }
  // Adds each node's total of Signed scores, normalised over these (feasible) nodes only.
  void addTotals(std::span<const NodeId> nodes, std::span<std::int64_t> totals) const;

 private:
  // A score plugin whose scores are normalised by the highest.
  struct Normalized {
    std::size_t position = 0;
    bool reverse = false;
    std::int64_t weight = 1;
    NarrowColumn raw;         // empty while all are 0
    NodeSet scored;           // nodes where it is not 0
    std::int64_t max = 0;     // over feasible nodes
    std::size_t holders = 0;  // feasible nodes that have max, when it is not 0
  };

  // The number of nodes per call of a plugin: their scores stay in the processor's cache.
  static constexpr std::size_t kChunk = 8192;

  void reset();
  bool epochsIncreased(const PodInfo& pod);
  // Fills `changed` with the existing nodes that must be judged again, and drops the results of
  // nodes that are gone. Returns true if that is all nodes and nothing was kept.
  bool takeChanges(const PodInfo& pod, NodeSet& changed);
  // Those of `changed` that pass, into `left`.
  Status runFilters(const PodInfo& pod, PluginMask skipFilter, const AttemptTimer& timer,
                    const NodeSet& changed, NodeSet& left);
  void drop(NodeId node);
  void setRaw(Normalized& scores, NodeId node, std::int64_t raw);
  void setRaw(Normalized& scores, std::span<const NodeId> nodes, std::span<const std::int64_t> raw);
  static void raiseMax(Normalized& scores, std::int64_t raw);
  // A Signed score plugin that scores pods of the class.
  struct Scorer {
    std::size_t position = 0;
    Normalized* normalized = nullptr;  // if its scores are
    std::int64_t weight = 1;  // includes the weights of plugins that share its rule; 0: not called
  };
  void findScorers();
  void shareRules(std::span<const NodeId> nodes, const AttemptTimer& timer);
  Status score(const PodInfo& pod, const Scorer& scorer, std::span<const NodeId> nodes,
               std::span<std::int64_t> fixed);
  bool scaled(const Normalized& scores) const;
  void addNormalized(std::span<const NodeId> nodes, std::span<std::int64_t> totals,
                     std::int64_t factor) const;
  // The nodes whose scores have another scale than before.
  using Maxima = boost::container::small_vector<std::int64_t, 8>;
  NodeSet rescale(const Maxima& before);

  Cluster& cluster_;
  const Profile& profile_;
  PodClass& class_;
  Scratch& scratch_;
  PluginMask signedFilters_ = 0;
  std::uint64_t position_ = 0;  // in the cluster's change log
  std::uint64_t nodes_ = 0;     // Cluster::nodesVersion() at that position
  bool valid_ = false;
  std::vector<std::uint64_t> epochs_;  // of Changing plugins
  NodeView view_;
  Verdicts verdicts_;
  NodeSet feasible_;
  std::size_t feasibleCount_ = 0;
  NodeSet unscored_;
  std::vector<Normalized> normalized_;
  std::vector<Scorer> scorers_;  // empty until the class's scores have been prepared
  struct SharedRule {
    Scorer* scorer = nullptr;
    Scorer* source = nullptr;
  };
  boost::container::small_vector<SharedRule, 1> sharedRules_;
  ScoreIndex totals_;  // kept scores are those with the maxima of `normalized_`
};

// The classes of one profile. The least recently used are dropped when there are too many.
class PodClasses {
 public:
  PodClasses(Cluster& cluster, const Profile& profile);

  std::shared_ptr<PodClass> of(const PodInfo& pod);
  std::size_t size() const { return byBytes_.size(); }
  // Drops what plugins answered for the class, because a plugin failed and must be called again.
  void drop(const PodClass& podClass);

 private:
  using Order = std::list<std::shared_ptr<PodClass>>;
  Order::iterator find(const PodInfo& pod);
  void clear();
  std::size_t limit() const;
  void preFilter(PodClass& podClass, const PodInfo& pod);

  Cluster& cluster_;
  const Profile& profile_;
  const bool signShapes_;  // all plugins do
  // The Signed plugins. A plugin that neither filters nor scores nodes (a quota) may change its
  // answer for a pod with every pod that is placed.
  struct SignedPreFilter {
    std::size_t position = 0;
    const Changing* changing = nullptr;  // if it is
    bool judgesNodes = false;
  };
  std::vector<SignedPreFilter> preFilters_;
  std::vector<SignedPreFilter> changing_;  // of these
  std::uint64_t symbols_ = 0;              // the symbols' version when the classes were made
  Signature signature_;
  Order order_;  // most recently used first
  std::unordered_map<std::string_view, Order::iterator> byBytes_;
  // Used while shapes determine the class: the signature is not computed.
  ByShape<Order::iterator> byShape_;
};

// Sets in `view` how the pod sees these nodes in the current state of the cluster, replacing their
// old entries.
void updateView(const Profile& profile, const PodInfo& pod, const NodeSet& nodes, NodeView& view);

// Scales the score to 0..`top` by the highest score.
std::int64_t normalizedScore(std::int64_t score, std::int64_t highest, bool reverse,
                             std::int64_t top = 100);
// The error for a score outside 0 to 100.
Status invalidScore(const std::string& plugin, std::int64_t score);
// The error of an attempt whose Filter plugin failed.
Status filterError(const std::string& plugin, const Status& status);

}  // namespace koord::scheduler
