#pragma once

// Cluster: the scheduler's state of all nodes and of the pods on them, modified in place.
//
// Nodes have dense ids. The values that filters and scores read most are columns indexed by node
// id. Every change to a node appends its id to a change log, so that cached results can be updated
// for the changed nodes only. Changes made while a Transaction is open are recorded and can be
// reverted. That is how a pod is tried on a node, victims are removed in a dry run, or a gang is
// placed as a whole.
//
// Not thread-safe: it belongs to the scheduler's thread.

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/core.h"
#include "base/result.h"
#include "scheduler/engine/grants.h"
#include "scheduler/engine/label_index.h"
#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

using TaintSet = std::uint32_t;  // an index into the distinct lists of taints; 0 = no taints

struct NodeImage {
  Symbol image = 0;
  std::int64_t size = 0;
};

// The part of a node that is not in columns.
struct NodeRow {
  std::string name;
  std::shared_ptr<const api::Node> object;  // nullptr: pods name this node, but it does not exist
  std::vector<Label> labels;                // sorted
  std::vector<NodeImage> images;            // sorted by image
  std::vector<PodPtr> pods;
  std::vector<HostPort> usedPorts;  // one entry per pod and port

  const Label* findLabel(Symbol key) const;
};

struct ImageSpread {
  std::uint32_t nodes = 0;    // nodes that have the image
  std::uint64_t version = 0;  // rises with every change
};

// Called for every pod that is added to or removed from a node, including the changes of a
// simulation and their undoing, after the cluster's own numbers have changed. Also called before
// and after labels, watched annotations or the existence of a node change.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;
  virtual void podAdded(NodeId node, const PodPtr& pod) = 0;
  virtual void podRemoved(NodeId node, const PodPtr& pod) = 0;
  virtual void nodeChanging(NodeId node) = 0;
  virtual void nodeChanged(NodeId node) = 0;
  // The node's allocatable changed. For an added or removed node only nodeChanged is called.
  virtual void allocatableChanged(NodeId /*node*/) {}
  // The pod is hidden or shown again (Cluster::Hidden); it stays on its node. For listeners that
  // keep relations between pods, such as affinity.
  virtual void podHidden(NodeId /*node*/, const PodPtr& /*pod*/) {}
  virtual void podShown(NodeId /*node*/, const PodPtr& /*pod*/) {}
  // All symbols were renumbered; stored symbols are invalid.
  virtual void symbolsChanged() {}
};

class Cluster {
 public:
  Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // For labels, selectors and images. Renumbered between attempts when most of them are unused; the
  // version rises then.
  Symbols& symbols() { return symbols_; }
  const Symbols& symbols() const { return symbols_; }
  std::uint64_t symbolsVersion() const { return symbolsVersion_; }
  // For host ports: addresses and protocols. Never renumbered.
  Symbols& addresses() { return addresses_; }
  const Symbols& addresses() const { return addresses_; }
  // Renumbers the symbols if most are unused. Not during an attempt.
  void compactSymbols();
  ResourceNames& resources() { return resources_; }
  const ResourceNames& resources() const { return resources_; }

  // --- Nodes. Not inside a transaction.
  // Adds or replaces a node and returns its id. No change is logged if no field that the engine
  // reads differs.
  NodeId setNode(std::shared_ptr<const api::Node> object);
  // The row stays until all pods bound to the node are removed.
  void removeNode(std::string_view name);

  std::optional<NodeId> findNode(std::string_view name) const;
  const NodeRow& node(NodeId id) const { return rows_[id]; }
  const NodeSet& live() const { return live_; }  // nodes that exist
  std::size_t liveCount() const { return liveCount_; }
  std::size_t capacity() const { return rows_.size(); }  // all ids are below
  // Rises when a property of the node's pods changes that only preemption reads: their start time,
  // or that they terminate.
  std::uint32_t podDetails(NodeId id) const { return podDetails_[id]; }
  // Rises when a node is added or removed.
  std::uint64_t nodesVersion() const { return nodesVersion_; }
  // Rises with nodesVersion(), and when a node's allocatable changes.
  std::uint64_t allocatableVersion() const { return allocatableVersion_; }
  // Rises when a node is added or removed, and when labels or taints of a node change.
  std::uint64_t placesVersion() const { return placesVersion_; }

  // Registers an annotation of nodes, or of pods on nodes, that a plugin reads. A changed value
  // counts as a change of the node, and listeners are called. Other annotations are ignored: they
  // are written all the time.
  void watchNodeAnnotation(std::string key) { nodeAnnotations_.insert(std::move(key)); }
  void watchPodAnnotation(std::string key) { podAnnotations_.insert(std::move(key)); }

  // --- Columns: an entry for every node id below capacity(), also for resources that no node has.
  std::span<const std::int64_t> allocatable(ResourceId id) const {
    return column(allocatable_, id);
  }
  std::span<const std::int64_t> requested(ResourceId id) const { return column(requested_, id); }
  // The largest amount of the resource that any node has had in any column. Sums of small enough
  // amounts need no overflow checks.
  std::int64_t highest(ResourceId id) const { return id < highest_.size() ? highest_[id] : 0; }
  std::span<const std::int64_t> nonZeroCpu() const { return nonZeroCpu_; }
  std::span<const std::int64_t> nonZeroMemory() const { return nonZeroMemory_; }
  std::span<const std::int64_t> podCount() const { return podCount_; }
  std::span<const std::int64_t> allowedPods() const { return allowedPods_; }
  static std::int64_t columnAt(std::span<const std::int64_t> column, NodeId node) {
    return node < column.size() ? column[node] : 0;
  }
  const NodeSet& unschedulable() const { return unschedulable_; }
  const NodeSet& tainted() const { return tainted_; }
  const LabelIndex& labels() const { return labels_; }
  std::span<const TaintSet> taintSets() const { return taintSetOf_; }
  const api::List<api::Taint>& taints(TaintSet set) const { return taintSets_[set]; }
  std::size_t taintSetCount() const { return taintSets_.size(); }
  ImageSpread imageSpread(Symbol image) const;

  LabelSets& labelSets() { return labelSets_; }
  PodShapes& shapes() { return shapes_; }
  TermTable& terms() { return terms_; }

  // --- Pods.
  struct PodRecord {
    // Records are found by the uid of info, which is constant; the other fields are not part of the
    // key.
    mutable PodPtr info;
    NodeId node = kNoNode;
    mutable bool assumed = false;  // placed by us, binding not observed yet
    mutable Grants grants;
  };
  // Records are their own keys, by uid.
  struct ByUid {
    using is_transparent = void;
    std::size_t operator()(const std::string& uid) const { return std::hash<std::string>{}(uid); }
    std::size_t operator()(const PodRecord& record) const { return (*this)(record.info->uid()); }
    bool operator()(const std::string& uid, const PodRecord& record) const {
      return record.info->uid() == uid;
    }
    bool operator()(const PodRecord& a, const PodRecord& b) const {
      return a.info->uid() == b.info->uid();
    }
  };
  using Pods = std::unordered_set<PodRecord, ByUid, ByUid>;
  const PodRecord* findPod(const std::string& uid) const;
  std::size_t podTotal() const { return pods_.size(); }
  std::size_t assumedTotal() const { return assumed_; }
  const Pods& pods() const { return pods_; }

  // Counts the pod on the node, with its grants, before the API server knows. Fails if the pod is
  // on a node already.
  Result<> assume(const PodPtr& pod, NodeId node, Grants grants = {});
  // Removes an assumed pod. An absent pod is fine; a confirmed pod is an error.
  Result<> forget(const std::string& uid);

  enum class Seen { Added, Confirmed, Updated, Moved };
  // The API shows the pod on this node; the ledgers read its grants. Moved: it was counted on
  // another node, which must not happen.
  Seen observePod(const PodPtr& pod, std::string_view nodeName);
  // The pod was deleted or has ended. Returns its record, if there was one.
  std::optional<PodRecord> removePod(const std::string& uid);

  // --- Grants (grants.h).
  // Assigns the ledger's id. The ledger is called for every pod with such a grant, including the
  // changes of a simulation and their undoing. It must live as long as the cluster.
  void addLedger(Ledger& ledger);
  const std::vector<Ledger*>& ledgers() const { return ledgers_; }
  // Replaces the pod's grant of this ledger; nullptr removes it. Does nothing if the pod is not on
  // a node or has an equal grant.
  void regrant(const std::string& uid, LedgerId ledger, GrantPtr grant);
  void regrant(const PodRecord& pod, LedgerId ledger, GrantPtr grant) {
    setGrant(pod, ledger, std::move(grant));
  }
  // Makes the ledger read all pods of the node again, because the data that it interprets them with
  // has changed.
  void reread(LedgerId ledger, NodeId node);

  // Returns true while a transaction is open, whose changes may be reverted.
  bool inSimulation() const { return openTransactions_ > 0; }
  // --- Transactions. The destructor or rollback() reverts every change to pods since the start,
  // unless committed. They nest.
  class Transaction {
   public:
    explicit Transaction(Cluster& cluster);
    ~Transaction() { rollback(); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();
    void rollback();

   private:
    Cluster& cluster_;
    std::size_t mark_;
    std::uint64_t logEnd_;
    bool open_ = true;
  };

  // Hides pods from listeners during its lifetime. All counts stay.
  using PodsOnNodes = std::vector<std::pair<NodeId, PodPtr>>;
  class Hidden {
   public:
    // The pods must outlive it.
    Hidden(Cluster& cluster, const PodsOnNodes& pods) : cluster_(cluster), pods_(pods) {
      for (const auto& [node, pod] : pods_)
        for (auto* listener : cluster_.listeners_) listener->podHidden(node, pod);
    }
    ~Hidden() {
      for (const auto& [node, pod] : pods_)
        for (auto* listener : cluster_.listeners_) listener->podShown(node, pod);
    }
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;

   private:
    Cluster& cluster_;
    const PodsOnNodes& pods_;
  };

  // --- Changes.
  std::uint64_t changeEnd() const { return logBase_ + log_.size(); }
  // The nodes changed since that position, with repeats; nullopt if the log does not reach back
  // that far.
  std::optional<std::span<const NodeId>> changesSince(std::uint64_t position);
  void touch(NodeId node) {
    // An entry from before the transaction does not cover a change within it: a reader that has
    // read up to that entry must see the change and its undoing.
    if (log_.empty() || log_.back() != node || changeEnd() <= std::max(logRead_, logFence_))
      noteChange(node);
  }

  void addListener(ClusterListener& listener) { listeners_.push_back(&listener); }

  // Recounts a node's pods in all ledgers and compares. Returns the differences by ledger, as text.
  // The cluster's own sums are called "resources".
  struct Drift {
    std::string_view ledger;
    std::string difference;
  };
  std::vector<Drift> checkNode(NodeId node) const;
  std::string verifyNode(NodeId node) const;  // the same as one text; "" without differences
  // Recomputes these ledgers from the node's pods. Not inside a transaction.
  void repairNode(NodeId node, const std::vector<Drift>& drifts);

 private:
  using Column = std::vector<std::int64_t>;
  static constexpr std::size_t kSymbols = 1 << 16;  // below this, renumbering is not worthwhile
  struct Undo {
    enum class Kind : std::uint8_t { Add, Remove, Regrant } kind;
    PodRecord record;  // the old one; for Add and Regrant only the pod
    LedgerId ledger = 0;
    GrantPtr grant;  // for Regrant: the old one
  };

  // Columns keep their address when resources are added; nullptr for resources that no node has.
  using ColumnsById = std::vector<std::unique_ptr<Column>>;

  std::span<const std::int64_t> column(const ColumnsById& columns, ResourceId id) const {
    return id < columns.size() && columns[id] ? *columns[id] : zeros_;
  }
  Column& columnFor(ColumnsById& columns, ResourceId id);
  void noteAmount(ResourceId id, std::int64_t amount) {
    if (id >= highest_.size()) highest_.resize(id + 1);
    if (amount > highest_[id]) highest_[id] = amount;
  }
  void noteChange(NodeId node);
  NodeId rowFor(std::string_view name);
  void releaseRow(NodeId id);
  void setAllocatable(NodeId id, const api::ResourceList& list);
  void setLabels(NodeId id, const api::StringMap& labels);
  void setImages(NodeId id, const api::List<api::ContainerImage>& images);
  TaintSet internTaints(const api::List<api::Taint>& taints);
  void insertPod(PodRecord record);
  PodRecord erasePod(Pods::iterator it);
  // Returns true if everything that is counted or watched is equal.
  bool countsAlike(const PodInfo& a, const PodInfo& b) const;
  void setGrant(const PodRecord& pod, LedgerId ledger, GrantPtr&& grant);
  void changeGrant(const PodRecord& pod, LedgerId ledger, GrantPtr&& grant);
  void applyGrant(NodeId node, const PodInfo& pod, LedgerId ledger, const Grant& grant, bool add);
  void followGrants(const PodRecord& pod);
  // Resources that something else reserves for a pod are not used by the pod.
  void countCovered(NodeId node, const Resources& covered, bool add);
  void settle();
  Grants readGrants(const PodInfo& pod, NodeId node, const Grants& held) const;
  void rereadPod(const PodRecord& pod, LedgerId ledger);
  // `before`: the shape in which it was last observed.
  void rereadAll(const PodRecord& pod, ShapeId before);
  // The ledgers that read pods of this pod's shape (Ledger::hasNothingToRead).
  const std::vector<Ledger*>& readersOf(const PodInfo& pod) const;
  void count(NodeId node, const PodInfo& pod, bool add);
  void addRequested(NodeId node, const Resources& amount, bool negative);
  // Adds to a node's value in that column, or subtracts.
  void shift(Column& column, NodeId node, std::int64_t value, bool negative);
  std::string verifyRequested(NodeId node) const;
  void recount(NodeId node);
  void revertTo(std::size_t mark);

  Symbols symbols_;
  std::uint64_t symbolsVersion_ = 1;
  std::size_t symbolsLimit_ = kSymbols;
  Symbols addresses_;
  ResourceNames resources_;
  std::vector<NodeRow> rows_;
  std::vector<NodeId> freeIds_;
  boost::unordered_flat_map<std::string, NodeId, TextHash, std::equal_to<>> ids_;
  NodeSet live_;
  std::size_t liveCount_ = 0;
  std::uint64_t nodesVersion_ = 0;
  std::uint64_t allocatableVersion_ = 0;
  std::uint64_t placesVersion_ = 0;

  // By resource id, then node id.
  ColumnsById allocatable_;
  ColumnsById requested_;
  std::vector<std::int64_t> highest_;  // by resource id
  Column zeros_;
  Column nonZeroCpu_;
  Column nonZeroMemory_;
  // The part of sums that does not fit in 64 bits, so that removing a pod exactly undoes adding it.
  // Nearly always empty.
  boost::unordered_flat_map<std::pair<const Column*, NodeId>, __int128> excess_;
  Column podCount_;
  Column allowedPods_;
  // All columns with an entry per node.
  std::vector<Column*> columns_{&zeros_, &nonZeroCpu_, &nonZeroMemory_, &podCount_, &allowedPods_};
  std::vector<TaintSet> taintSetOf_;
  std::vector<std::uint32_t> podDetails_;
  NodeSet unschedulable_;
  NodeSet tainted_;
  LabelIndex labels_;
  std::vector<api::List<api::Taint>> taintSets_;
  std::unordered_map<std::string, TaintSet> taintSetIds_;
  boost::unordered_flat_map<Symbol, ImageSpread> images_;
  LabelSets labelSets_;
  PodShapes shapes_;
  TermTable terms_;

  Pods pods_;
  mutable const PodRecord* recent_ = nullptr;  // last record that was found or added
  std::size_t assumed_ = 0;

  std::vector<Undo> journal_;
  std::size_t openTransactions_ = 0;
  std::vector<NodeId> log_;
  std::uint64_t logBase_ = 0;
  std::uint64_t logRead_ = 0;  // no reader has read beyond this position
  std::uint64_t logFence_ =
      0;  // start of the last transaction: earlier entries do not cover its changes
  std::vector<ClusterListener*> listeners_;
  std::vector<Ledger*> ledgers_;    // by id
  std::vector<Ledger*> deriving_;   // those that derive grants
  std::vector<Ledger*> following_;  // those that read other ledgers' grants
  mutable ByShape<std::vector<Ledger*>> readers_;
  bool undoing_ = false;
  std::set<std::string> nodeAnnotations_;
  std::set<std::string> podAnnotations_;
};

// Returns true if both sets of annotations have equal values for these keys.
bool sameAnnotations(const std::set<std::string>& keys, const api::StringMap& a,
                     const api::StringMap& b);

// "img" -> "img:latest"; names with a tag or digest stay.
std::string normalizedImageName(std::string_view name);

}  // namespace koord::scheduler
