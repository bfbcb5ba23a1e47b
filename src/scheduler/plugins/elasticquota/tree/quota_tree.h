#pragma once

// QuotaTree: a tree of quotas, what their pods request and use, and what each quota is entitled to.
//
// The caller sets the quotas (set, erase), the requests and the use of the pods that name a quota
// (addSelf), and the total of each resource (setTotal). The tree derives, per quota and resource:
//
//   childRequest  the request of its own pods, and the limited requests of its children
//   request       the same, or min if the quota does not lend and requests less
//   limited       request, but at most max: what its parent counts
//   used          of its own pods and its children; the same for non-preemptible pods
//   scaledMin     min, or its share of the total if the mins of all siblings exceed the total
//   runtime       what it may use now (redistribution.h)
//   limit         the smaller of runtime and max
//
// Sums are updated at once, along the path to the root: O(depth) for a change of one resource.
// Runtimes are computed on demand, and only where something has changed: a quota is dirty in a
// resource if a claim of its children or its own runtime changed. The runtimes of all children of a
// quota are computed together, so that results do not depend on the order of queries. Runtimes that
// depend on no change are not recomputed.
//
// A quota is a child of the quota that it names as parent. If that quota does not exist, or would
// make a cycle, the quota is a child of the root, and `parentState` says why. The root always
// exists. A quota that is `apart` (Koordinator's default and system quotas) is below the root but
// takes no part in its redistribution: its use is subtracted from the total, and its limit is its
// max.
//
// Layout: a row of cells per quota, and a column per resource that any quota names. The first 64
// columns are in one block. More resources make further columns, where a quota has a cell only if
// the quota, or a quota below it, counts the resource. So a resource name costs only the quotas
// that use it. Sums over pods are exact in 128 bits; everything else has 64 bits.
//
// Units: millicores for cpu, whole units for everything else. Amounts and resources are plain
// numbers to the tree. Not thread-safe.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "scheduler/plugins/elasticquota/tree/columns.h"
#include "scheduler/plugins/elasticquota/tree/redistribution.h"

namespace koord::scheduler::quota {

using QuotaId = std::uint32_t;
inline constexpr QuotaId kNoQuota = ~QuotaId{0};
using ResourceKey = std::uint32_t;  // chosen by the caller
using Sum = __int128;

// The sum limited to 64 bits.
std::int64_t clamped(Sum sum);

using Amounts = std::vector<std::pair<ResourceKey, std::int64_t>>;

// The definition of a quota. Amounts are not negative. Without a weight for a resource, the quota
// does not borrow it.
struct Spec {
  std::string parent;  // "" = the root
  bool lends = true;
  bool isParent = false;  // for display
  bool apart = false;
  Amounts max;
  Amounts min;
  Amounts weight;
  bool operator==(const Spec&) const = default;
};

// The request and the use of pods in one resource.
struct Change {
  Sum request = 0;
  Sum used = 0;
  Sum fixedRequest = 0;  // of non-preemptible pods
  Sum fixedUsed = 0;
  bool isZero() const { return request == 0 && used == 0 && fixedRequest == 0 && fixedUsed == 0; }
  Change& operator+=(const Change& other) {
    // Usually only one is set.
    if (other.request != 0) request += other.request;
    if (other.used != 0) used += other.used;
    if (other.fixedRequest != 0) fixedRequest += other.fixedRequest;
    if (other.fixedUsed != 0) fixedUsed += other.fixedUsed;
    return *this;
  }
};

// One quota in one resource.
struct Cell {
  Change self;  // of its own pods, even if the quota does not count the resource
  Sum childRequest = 0;
  Sum request = 0;
  Sum used = 0;
  Sum fixedRequest = 0;
  Sum fixedUsed = 0;
  Sum allocated = 0;     // with guarantees: own use and what is guaranteed to children
  Sum guaranteed = 0;    // with guarantees: the larger of allocated and min
  std::int64_t max = 0;  // valid if hasMax
  std::int64_t min = 0;
  std::int64_t weight = 0;
  std::int64_t scaledMin = 0;
  std::int64_t runtime = 0;
  std::int64_t limit = 0;  // valid if hasMax
};

class QuotaTree {
 public:
  struct Settings {
    bool scaleMin = true;
    bool guarantee = false;  // redistribution does not reduce what was allocated
  };
  static constexpr QuotaId kRoot = 0;

  QuotaTree(std::string rootName, Settings settings);
  QuotaTree(const QuotaTree&) = delete;
  QuotaTree& operator=(const QuotaTree&) = delete;

  // --- Quotas.
  // The root's name is reserved. Adds or changes a quota. `fresh` gets the new columns: the caller
  // must add the amounts that pods of all quotas have in them.
  QuotaId set(std::string_view name, const Spec& spec, Columns& fresh);
  // The amounts of its own pods must be removed before. Its children are below the root until a
  // quota of this name is set again.
  void erase(QuotaId quota);
  QuotaId find(std::string_view name) const;
  std::size_t size() const { return ids_.size(); }  // without the root

  enum class ParentState { ParentFound, ParentMissing, Cycle };
  ParentState parentState(QuotaId quota) const { return nodes_[quota].parentState; }
  const std::string& name(QuotaId quota) const { return nodes_[quota].name; }
  // Never reused for another quota.
  std::uint64_t serial(QuotaId quota) const { return nodes_[quota].serial; }
  // Increases when any of its cells changes.
  std::uint64_t stamp(QuotaId quota) const { return nodes_[quota].stamp; }
  const Spec& spec(QuotaId quota) const { return nodes_[quota].spec; }
  QuotaId parent(QuotaId quota) const { return nodes_[quota].parent; }
  std::span<const QuotaId> children(QuotaId quota) const {
    return nodes_[quota].children;
  }  // by name
  template <class F>
  void forEach(F&& fn) const {
    for (const auto& [name, id] : ids_) fn(id);
  }

  // --- Resources.
  std::optional<Column> columnOf(ResourceKey resource) const;
  ResourceKey resource(Column column) const { return resources_[column]; }
  const Columns& columns() const { return inUse_; }
  const Columns& maxColumns(QuotaId quota) const { return nodes_[quota].hasMax; }
  const Columns& minColumns(QuotaId quota) const { return nodes_[quota].hasMin; }
  // The columns in which it has cells; in all others everything is 0.
  Columns cellColumns(QuotaId quota) const { return nodes_[quota].wide.withCommonOf(inUse_); }
  // Returns true if the tree computes its runtime in the column: it is not apart, and its ancestors
  // below the root have the resource in max.
  bool hasRuntime(QuotaId quota, Column column) const;

  // --- Amounts.
  void addSelf(QuotaId quota, Column column, const Change& change);
  // The total of a resource; nullopt: unknown.
  void setTotal(ResourceKey resource, std::optional<std::int64_t> total);
  std::optional<std::int64_t> total(Column column) const;
  // What the children of a quota share: its runtime, or for the root the total less the use of the
  // quotas that are apart.
  std::int64_t available(QuotaId quota, Column column) const;

  // Increases with every change.
  std::uint64_t version() const { return version_; }

  // --- Runtimes.
  void refresh(QuotaId quota);  // on the path from the root
  void refreshAll();
  const Cell& cell(QuotaId quota, Column column) const {
    if (column < kCommonColumns) return cells_[quota * stride_ + column];
    return overflowCell(quota, column);
  }
  Sum limited(QuotaId quota, Column column) const;
  // The claims of a quota's children in a resource, in the order of the children.
  std::vector<Claim> claims(QuotaId quota, Column column) const;

  // Recomputes every sum and runtime from the input and compares. Returns the first difference with
  // both values, "" if there is none. Everything must be refreshed.
  std::string verify() const;
  // Verifies one quota against its children and its own pods, and the runtimes of its children if
  // they are current: O(children).
  std::string verifyQuota(QuotaId quota) const;
  // Recomputes every sum.
  void rebuild();

 private:
  struct Node {
    std::string name;
    Spec spec;
    QuotaId parent = kNoQuota;
    ParentState parentState = ParentState::ParentFound;
    std::vector<QuotaId> children;
    Columns hasMax;
    Columns hasMin;
    Columns named;  // in max, min or weight: the column is held
    Columns dirty;  // where its children's runtimes must be recomputed
    Columns wide;   // where it has cells beyond the common columns
    std::unordered_map<Column, Cell> further;
    std::uint64_t serial = 0;
    std::uint64_t stamp = 0;
    bool alive = false;
  };
  static constexpr Column kNoColumn = ~Column{0};
  // What a parent sums up over its children.
  struct Upward {
    Change change;  // with request limited
    Sum guaranteed = 0;
  };

  // topology.cc
  QuotaId wanted(QuotaId quota) const;  // the parent by its name; kNoQuota if it does not exist
  bool onCycle(QuotaId quota) const;
  void membersOfCycle(QuotaId quota, std::vector<QuotaId>& members) const;
  void settle(QuotaId quota);
  void settleAffected(QuotaId quota, std::vector<QuotaId> affected);
  void attach(QuotaId quota, QuotaId parent);
  void detach(QuotaId quota);
  void dropRequest(QuotaId quota);

  // columns.cc
  Column hold(ResourceKey resource, Columns& fresh);
  void release(const Columns& columns);
  void vacate(Column column);
  void widen(Column column);
  void addRow(QuotaId quota);
  void dropRow(QuotaId quota);
  const Cell& overflowCell(QuotaId quota, Column column) const;
  Cell& overflowCellAt(QuotaId quota, Column column);
  void place(QuotaId quota, const Amounts& amounts, Columns& present, std::int64_t Cell::* field,
             Columns& named, Columns& fresh);

  // The reference stays valid while cells of other quotas or columns are added.
  Cell& at(QuotaId quota, Column column) {
    if (column < kCommonColumns) return cells_[quota * stride_ + column];
    return overflowCellAt(quota, column);
  }
  void apply(QuotaId quota, const Spec& spec, Columns& fresh);
  Upward upward(QuotaId quota, Column column) const;
  void push(QuotaId parent, Column column, const Upward& before, const Upward& after);
  void derive(QuotaId quota, Column column);
  void count(QuotaId quota, Column column, Change change, Sum allocated);
  static Sum limited(const Node& node, const Cell& cell, Column column);
  void markDirty(QuotaId quota, const Columns& columns);
  void markDirty(QuotaId quota, Column column);
  void markChildrenDirty(QuotaId quota, const Columns& columns);
  void markDescendantsDirty(QuotaId quota);
  // The quota and all of its descendants, parents first.
  std::vector<QuotaId> withDescendants(QuotaId quota) const;
  // Of a quota and its children.
  Columns cellColumnsAround(QuotaId quota) const;
  Columns sharedColumns(QuotaId quota) const;
  // The children that share the quota's amount in a column, in their order: all that are not apart,
  // except some that neither have nor request anything.
  void sharersOf(QuotaId quota, Column column, std::vector<QuotaId>& sharers) const;
  Claim claimOf(QuotaId child, Column column) const;
  void share(QuotaId quota, Column column);
  void clearShares(QuotaId quota, Column column);
  void redistributeAll(QuotaId quota);
  void scaleMins(QuotaId quota, Column column, std::span<const QuotaId> sharers);
  void setRuntime(QuotaId quota, Column column, std::int64_t runtime);
  Upward ownSums(QuotaId quota, Column column) const;
  void sumUp(QuotaId quota);

  Settings settings_;
  std::vector<Node> nodes_;
  std::vector<QuotaId> free_;
  std::unordered_map<std::string, QuotaId> ids_;
  // Quotas by the name of their parent, whether that exists or not.
  std::unordered_map<std::string, std::unordered_set<QuotaId>> childrenByParentName_;
  std::uint64_t lastSerial_ = 0;
  std::uint64_t version_ = 1;
  std::uint64_t refreshed_ = 0;  // the version at which no quota was dirty

  std::vector<Cell> cells_;  // by quota, then common column
  std::size_t stride_ = 4;
  std::vector<std::vector<QuotaId>> rows_;  // by further column: quotas with a cell, in no order
  Columns inUse_;
  std::set<Column> vacant_;                          // columns that were in use and are free
  std::vector<ResourceKey> resources_;               // by column
  std::vector<Column> columnOf_;                     // by resource
  std::vector<std::uint32_t> holders_;               // by column: the number of quotas that name it
  std::vector<std::optional<std::int64_t>> totals_;  // by resource
  std::vector<QuotaId> sharers_;                     // scratch
  std::vector<Claim> claims_;
  std::vector<std::int64_t> runtimes_;
};

}  // namespace koord::scheduler::quota
