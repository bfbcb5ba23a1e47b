#pragma once

// Cluster: the scheduler's state of all nodes and of the pods on them, worked on in place.
//
// Nodes have dense ids; what filters and scores read most is kept in columns by node id. Every
// change to a node appends its id to a change log, so that cached results can be brought up to date
// by looking at changed nodes only. Changes made while a Transaction is open are recorded and can
// be taken back, which is how a pod is tried out on a node, victims are removed for a moment, or a
// gang is placed as a whole.
//
// Not thread-safe: it belongs to the scheduler's actor.

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

using TaintSet = std::uint32_t;  // nodes with equal taints share the number; 0 = no taints

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
  std::uint32_t nodes = 0;    // that hold the image
  std::uint64_t version = 0;  // rises with every change
};

// Hears of every pod that comes to or leaves a node, what-if changes and their undoing included,
// after the cluster's own numbers have changed; and of nodes before and after labels, watched
// annotations or existence change.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;
  virtual void podAdded(NodeId node, const PodPtr& pod) = 0;
  virtual void podRemoved(NodeId node, const PodPtr& pod) = 0;
  virtual void nodeChanging(NodeId node) = 0;
  virtual void nodeChanged(NodeId node) = 0;
  // What a node has for its pods. A node that comes or goes has it changed, too, and is told of by nodeChanged alone.
  virtual void allocatableChanged(NodeId /*node*/) {}
  // The pod is not to be seen for a while, or is again (Cluster::Hidden); it stays where it is. For
  // those who tell pods about others.
  virtual void podHidden(NodeId /*node*/, const PodPtr& /*pod*/) {}
  virtual void podShown(NodeId /*node*/, const PodPtr& /*pod*/) {}
  // Symbols that were kept mean nothing any more.
  virtual void symbolsChanged() {}
};

class Cluster {
 public:
  Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Of labels, selectors and images. Given anew when most of them are in use no more, between
  // attempts; the version rises then.
  Symbols& symbols() { return symbols_; }
  const Symbols& symbols() const { return symbols_; }
  std::uint64_t symbolsVersion() const { return symbolsVersion_; }
  // Of host ports: addresses and protocols. Kept for good.
  Symbols& addresses() { return addresses_; }
  const Symbols& addresses() const { return addresses_; }
  // Takes new symbols if it is time to. Not during an attempt.
  void tidy();
  ResourceNames& resources() { return resources_; }
  const ResourceNames& resources() const { return resources_; }

  // --- Nodes. Not inside a transaction.
  // Adds or replaces; returns its id. Nothing is logged as changed when nothing the engine reads
  // differs.
  NodeId setNode(std::shared_ptr<const api::Node> object);
  // Pods that are still bound to it keep its row until they are gone.
  void removeNode(std::string_view name);

  std::optional<NodeId> findNode(std::string_view name) const;
  const NodeRow& node(NodeId id) const { return rows_[id]; }
  const NodeSet& live() const { return live_; }  // nodes that exist
  std::size_t liveCount() const { return liveCount_; }
  std::size_t capacity() const { return rows_.size(); }  // all ids are below
  // Rises when something of the node's pods changes that is not counted, and matters to nobody but
  // preemption: when they started, and that they are to leave.
  std::uint32_t podDetails(NodeId id) const { return podDetails_[id]; }
  // Rises when a node comes or goes.
  std::uint64_t nodesVersion() const { return nodesVersion_; }
  // Rises with that, and when a node comes to have more or less of something.
  std::uint64_t allocatableVersion() const { return allocatableVersion_; }
  // Rises when a node comes or goes, and when labels or taints of a node change.
  std::uint64_t placesVersion() const { return placesVersion_; }

  // An annotation of nodes, or of pods on nodes, that some plugin reads. A node that comes to have
  // another value of it, or a pod that does, counts as changed, and listeners hear of it. Others
  // are written all the time and mean nothing here.
  void watchNodeAnnotation(std::string key) { nodeAnnotations_.insert(std::move(key)); }
  void watchPodAnnotation(std::string key) { podAnnotations_.insert(std::move(key)); }

  // --- Columns: an entry for every node id below capacity(), also of resources nobody has.
  std::span<const std::int64_t> allocatable(ResourceId id) const {
    return column(allocatable_, id);
  }
  std::span<const std::int64_t> requested(ResourceId id) const { return column(requested_, id); }
  // No node has, or ever had, a larger amount of the resource in any column. Sums of amounts that
  // are small enough need not be watched for overflows.
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
    // Records are found by the uid of info, which stays; of the rest nothing is looked at for that.
    mutable PodPtr info;
    NodeId node = kNoNode;
    mutable bool assumed = false;  // placed by us, not yet seen as bound
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

  // Counts the pod on the node, with what it was given there, before the API knows. Fails when the
  // pod is on a node already.
  Result<> assume(const PodPtr& pod, NodeId node, Grants grants = {});
  // Takes an assumption back; one that is absent is fine, one that was confirmed is an error.
  Result<> forget(const std::string& uid);

  enum class Seen { Added, Confirmed, Updated, Moved };
  // The API shows the pod on this node; the ledgers read what it was given. Moved: it was counted
  // on another one, which must not happen.
  Seen observePod(const PodPtr& pod, std::string_view nodeName);
  // The pod is gone, or has ended. Returns what was counted, if anything.
  std::optional<PodRecord> removePod(const std::string& uid);

  // --- Grants (grants.h).
  // Gives the ledger its id. It hears of every pod that holds something of it, what-if changes and
  // their undoing included, and must outlive the cluster or be as long-lived.
  void addLedger(Ledger& ledger);
  const std::vector<Ledger*>& ledgers() const { return ledgers_; }
  // What the pod holds of this ledger from now on; nullptr: nothing. Nothing happens when the pod
  // is not on a node, or holds the same already.
  void regrant(const std::string& uid, LedgerId ledger, GrantPtr grant);
  void regrant(const PodRecord& pod, LedgerId ledger, GrantPtr grant) {
    setGrant(pod, ledger, std::move(grant));
  }
  // Has the ledger read all pods of the node again: what it reads them by has changed.
  void reread(LedgerId ledger, NodeId node);

  // Whether changes are being tried out that will be taken back.
  bool whatIf() const { return openTransactions_ > 0; }
  // --- What-if. Destroying it, or rollback(), takes back every change to pods since; they nest.
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

  // Pods that some listeners do not see for as long as it lives. Nothing is counted differently.
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
  // The nodes changed since that position, with repeats; nullopt when that is too long ago to tell.
  std::optional<std::span<const NodeId>> changesSince(std::uint64_t position);
  void touch(NodeId node) {
    // An entry of before a transaction does not tell of what happens in it: whoever reads up to that one must
    // hear of the change and of its undoing.
    if (log_.empty() || log_.back() != node || changeEnd() <= std::max(logRead_, logFence_))
      noteChange(node);
  }

  void addListener(ClusterListener& listener) { listeners_.push_back(&listener); }

  // Counts a node's pods afresh, in all ledgers, and compares: what differs, by ledger and in words.
  // The cluster's own sums are called "resources".
  struct Drift {
    std::string_view ledger;
    std::string difference;
  };
  std::vector<Drift> checkNode(NodeId node) const;
  std::string verifyNode(NodeId node) const;  // the same as one text; "" when nothing differs
  // Works these out anew from the node's pods. Not inside a transaction.
  void repairNode(NodeId node, const std::vector<Drift>& drifts);

 private:
  using Column = std::vector<std::int64_t>;
  static constexpr std::size_t kSymbols = 1 << 16;  // not worth to tidy up below
  struct Undo {
    enum class Kind : std::uint8_t { Add, Remove, Regrant } kind;
    PodRecord record;  // as it was; of Add and Regrant only the pod
    LedgerId ledger = 0;
    GrantPtr grant;  // of Regrant: before
  };

  // Columns stay where they are as resources come; nullptr where nobody has any.
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
  // Whether all that is counted of the two, or watched, is the same.
  bool countsAlike(const PodInfo& a, const PodInfo& b) const;
  void setGrant(const PodRecord& pod, LedgerId ledger, GrantPtr&& grant);
  void changeGrant(const PodRecord& pod, LedgerId ledger, GrantPtr&& grant);
  void applyGrant(NodeId node, const PodInfo& pod, LedgerId ledger, const Grant& grant, bool add);
  void followGrants(const PodRecord& pod);
  // What something else holds for a pod is not taken by the pod.
  void countCovered(NodeId node, const Resources& covered, bool add);
  void settle();
  Grants readGrants(const PodInfo& pod, NodeId node, const Grants& held) const;
  void rereadPod(const PodRecord& pod, LedgerId ledger);
  // `before`: the shape in which it was seen last.
  void rereadAll(const PodRecord& pod, ShapeId before);
  // Those that have something to read in pods of this one's shape (Ledger::silent).
  const std::vector<Ledger*>& readersOf(const PodInfo& pod) const;
  void count(NodeId node, const PodInfo& pod, bool add);
  void addRequested(NodeId node, const Resources& amount, bool negative);
  // Adds to a number of a node in that column, or takes from it.
  void shift(Column& column, NodeId node, std::int64_t value, bool negative);
  std::string verifyRequested(NodeId node) const;
  void recount(NodeId node);
  void undoTo(std::size_t mark);

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
  // What sums of these columns are beyond what 64 bits hold, exactly, so that taking a pod away
  // undoes adding it. Nearly always empty.
  boost::unordered_flat_map<std::pair<const Column*, NodeId>, __int128> excess_;
  Column podCount_;
  Column allowedPods_;
  // All that have entries.
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
  mutable const PodRecord* recent_ = nullptr;  // that was asked for, or came, last
  std::size_t assumed_ = 0;

  std::vector<Undo> journal_;
  std::size_t openTransactions_ = 0;
  std::vector<NodeId> log_;
  std::uint64_t logBase_ = 0;
  std::uint64_t logRead_ = 0;  // no reader has gone beyond
  std::uint64_t logFence_ =
      0;  // where the last transaction began: entries before it are not its own
  std::vector<ClusterListener*> listeners_;
  std::vector<Ledger*> ledgers_;    // by id
  std::vector<Ledger*> deriving_;   // those of them that derive grants
  std::vector<Ledger*> following_;  // ... and that read others'
  mutable ByShape<std::vector<Ledger*>> readers_;
  bool undoing_ = false;
  std::set<std::string> nodeAnnotations_;
  std::set<std::string> podAnnotations_;
};

// Whether two sets of annotations say the same of these keys.
bool sameAnnotations(const std::set<std::string>& keys, const api::StringMap& a,
                     const api::StringMap& b);

// "img" -> "img:latest"; what has a tag or digest stays.
std::string normalizedImageName(std::string_view name);

}  // namespace koord::scheduler
