#pragma once

// QuotaTree: quotas in a tree, what their pods ask for and use, and what each of them is entitled to.
//
// Who feeds it says what each quota is (set, erase), what the pods that name a quota ask for and use
// (addSelf), and how much there is (setTotal). From this follow, per quota and resource:
//
//   childRequest  what its own pods ask for, and the limited requests of its children
//   request       the same, or min where a quota does not lend and asks for less
//   limited       request, but not more than max: what its parent counts
//   used          of its own pods and its children; so for non-preemptible pods
//   scaledMin     min, or its part of what there is when the mins of all siblings are more than that
//   runtime       what it may use now (redistribution.h)
//   limit         the smaller of runtime and max
//
// Sums are kept current as they come, up the path to the root: O(depth) for a change of one resource.
// Runtimes are worked out when they are asked for, and only where something has changed: a quota is
// dirty in a resource when a claim of its children or its own runtime did. All children of a quota are
// worked out together, so that results do not depend on who asks first. What depends on nothing that
// changed is not touched.
//
// Quotas hang below the one that they name as parent. While that is not there, or would make a cycle,
// they hang below the root, and `hanging` says why. The root is always there. A quota that is `apart`
// (Koordinator's default and system quota) is below the root, but takes no part in its redistribution:
// what it uses is taken from the total, and its limit is its max.
//
// Layout: a row of cells per quota, a column per resource that some quota names; the first 64 columns
// all in one block. Who names more resources than that, in however many quotas, makes further columns:
// there a quota has a cell only where it, or something below it, counts the resource. So a name costs
// what those pay who use it. Sums over pods are exact in 128 bits, however large the amounts are;
// everything else is in 64.
//
// Units: thousandths of a core for cpu, whole units for everything else; to the tree they are numbers,
// as resources are. Not thread-safe.

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
using ResourceKey = std::uint32_t;  // whatever numbers the feeder gives resources
using Sum = __int128;

// As much of a sum as 64 bits can say.
std::int64_t clamped(Sum sum);

using Amounts = std::vector<std::pair<ResourceKey, std::int64_t>>;

// What a quota is. Amounts are not negative. No weight for a resource means that it does not borrow.
struct Spec {
  std::string parent;  // "" = the root
  bool lends = true;
  bool isParent = false;  // for people
  bool apart = false;
  Amounts max;
  Amounts min;
  Amounts weight;
  bool operator==(const Spec&) const = default;
};

// What pods do to a quota in one resource.
struct Change {
  Sum request = 0;
  Sum used = 0;
  Sum fixedRequest = 0;  // of pods that are not preemptible
  Sum fixedUsed = 0;
  bool isZero() const { return request == 0 && used == 0 && fixedRequest == 0 && fixedUsed == 0; }
  Change& operator+=(const Change& other) {
    // Mostly there is one of them.
    if (other.request != 0) request += other.request;
    if (other.used != 0) used += other.used;
    if (other.fixedRequest != 0) fixedRequest += other.fixedRequest;
    if (other.fixedUsed != 0) fixedUsed += other.fixedUsed;
    return *this;
  }
};

// One quota in one resource.
struct Cell {
  Change self;  // of pods that name this very quota, whether it counts the resource or not
  Sum childRequest = 0;
  Sum request = 0;
  Sum used = 0;
  Sum fixedRequest = 0;
  Sum fixedUsed = 0;
  Sum allocated = 0;     // with guarantees: own use and what children are guaranteed
  Sum guaranteed = 0;    // with guarantees: the larger of allocated and min
  std::int64_t max = 0;  // where hasMax
  std::int64_t min = 0;
  std::int64_t weight = 0;
  std::int64_t scaledMin = 0;
  std::int64_t runtime = 0;
  std::int64_t limit = 0;  // where hasMax
};

class QuotaTree {
 public:
  struct Settings {
    bool scaleMin = true;
    bool guarantee = false;  // what was given is not taken back by redistribution
  };
  static constexpr QuotaId kRoot = 0;

  QuotaTree(std::string rootName, Settings settings);
  QuotaTree(const QuotaTree&) = delete;
  QuotaTree& operator=(const QuotaTree&) = delete;

  // --- Quotas. The root's name is taken.
  // Adds or changes one. `fresh` gets the columns that have come to be: the feeder has to add what pods
  // of all quotas have of them.
  QuotaId set(std::string_view name, const Spec& spec, Columns& fresh);
  // Its pods have to be taken away before. Its children hang below the root until it comes back.
  void erase(QuotaId quota);
  QuotaId find(std::string_view name) const;
  std::size_t size() const { return ids_.size(); }  // the root not among them

  enum class Hanging { WhereItSays, ParentMissing, Cycle };
  Hanging hanging(QuotaId quota) const { return nodes_[quota].hanging; }
  const std::string& name(QuotaId quota) const { return nodes_[quota].name; }
  // Never used again for another quota.
  std::uint64_t serial(QuotaId quota) const { return nodes_[quota].serial; }
  // Rises when anything of its cells does.
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
  // Where it has cells; in all others of them everything is 0.
  Columns cellColumns(QuotaId quota) const { return nodes_[quota].wide.withCommonOf(inUse_); }
  // Whether its runtime is worked out there: where its parent has it, or where that is the root.
  bool hasRuntime(QuotaId quota, Column column) const;

  // --- Amounts.
  void addSelf(QuotaId quota, Column column, const Change& change);
  // How much there is of a resource; nullopt: nobody has said.
  void setTotal(ResourceKey resource, std::optional<std::int64_t> total);
  std::optional<std::int64_t> total(Column column) const;
  // What the children of a quota share: the total without what quotas that are apart use, or runtime.
  std::int64_t available(QuotaId quota, Column column) const;

  // Rises with every change of anything.
  std::uint64_t version() const { return version_; }

  // --- Runtimes.
  void refresh(QuotaId quota);  // on the path from the root
  void refreshAll();
  const Cell& cell(QuotaId quota, Column column) const {
    if (column < kCommonColumns) return cells_[quota * stride_ + column];
    return furtherCell(quota, column);
  }
  Sum limited(QuotaId quota, Column column) const;
  // The claims of a quota's children in a resource, in their order.
  std::vector<Claim> claims(QuotaId quota, Column column) const;

  // Derives every sum and runtime from what was fed, and compares: the first difference in words with
  // both values, "" when there is none. All has to be refreshed.
  std::string verify() const;
  // The same for one quota by what its children and its own pods say, and for the runtimes of its
  // children if they are current: O(children).
  std::string verifyQuota(QuotaId quota) const;
  // Derives every sum anew.
  void rebuild();

 private:
  struct Node {
    std::string name;
    Spec spec;
    QuotaId parent = kNoQuota;
    Hanging hanging = Hanging::WhereItSays;
    std::vector<QuotaId> children;
    Columns hasMax;
    Columns hasMin;
    Columns named;  // max, min or weight: the column is held
    Columns dirty;  // its children's runtimes are to be worked out
    Columns wide;   // of its cells beyond the common ones
    std::unordered_map<Column, Cell> further;
    std::uint64_t serial = 0;
    std::uint64_t stamp = 0;
    bool alive = false;
  };
  static constexpr Column kNoColumn = ~Column{0};
  // What a parent adds up of a child.
  struct Upward {
    Change change;  // with request limited
    Sum guaranteed = 0;
  };

  // topology.cc
  QuotaId wanted(QuotaId quota) const;  // by the name it gives; kNoQuota when that is not there
  bool onCycle(QuotaId quota) const;
  void membersOfCycle(QuotaId quota, std::vector<QuotaId>& members) const;
  void settle(QuotaId quota);
  void settleAround(QuotaId quota, std::vector<QuotaId> affected);
  void attach(QuotaId quota, QuotaId parent);
  void detach(QuotaId quota);
  void forgetWish(QuotaId quota);

  // columns.cc
  Column hold(ResourceKey resource, Columns& fresh);
  void release(const Columns& columns);
  void vacate(Column column);
  void widen(Column column);
  void addRow(QuotaId quota);
  void dropRow(QuotaId quota);
  const Cell& furtherCell(QuotaId quota, Column column) const;
  Cell& furtherAt(QuotaId quota, Column column);
  void place(QuotaId quota, const Amounts& amounts, Columns& present, std::int64_t Cell::* field,
             Columns& named, Columns& fresh);

  // Stays where it is while cells of other quotas or columns come.
  Cell& at(QuotaId quota, Column column) {
    if (column < kCommonColumns) return cells_[quota * stride_ + column];
    return furtherAt(quota, column);
  }
  void apply(QuotaId quota, const Spec& spec, Columns& fresh);
  Upward upward(QuotaId quota, Column column) const;
  void push(QuotaId parent, Column column, const Upward& before, const Upward& after);
  void derive(QuotaId quota, Column column);
  void count(QuotaId quota, Column column, Change change, Sum allocated);
  static Sum limited(const Node& node, const Cell& cell, Column column);
  void markDirty(QuotaId quota, const Columns& columns);
  void markDirty(QuotaId quota, Column column);
  void markBelowDirty(QuotaId quota, const Columns& columns);
  void markAllBelowDirty(QuotaId quota);
  // The quota and all below it, parents first.
  std::vector<QuotaId> withAllBelow(QuotaId quota) const;
  // Of a quota and its children.
  Columns cellColumnsAround(QuotaId quota) const;
  Columns sharedColumns(QuotaId quota) const;
  // The children that share what a quota has in a column, in their order: all that are not apart, less
  // some that neither have nor want anything.
  void sharersOf(QuotaId quota, Column column, std::vector<QuotaId>& sharers) const;
  Claim claimOf(QuotaId child, Column column) const;
  void share(QuotaId quota, Column column);
  void leaveUnshared(QuotaId quota, Column column);
  void redistributeAll(QuotaId quota);
  void scaleMins(QuotaId quota, Column column, std::span<const QuotaId> sharers);
  void setRuntime(QuotaId quota, Column column, std::int64_t runtime);
  Upward ownSums(QuotaId quota, Column column) const;
  void sumUp(QuotaId quota);

  Settings settings_;
  std::vector<Node> nodes_;
  std::vector<QuotaId> free_;
  std::unordered_map<std::string, QuotaId> ids_;
  // Quotas by the name of the parent that they ask for, whether it is there or not.
  std::unordered_map<std::string, std::unordered_set<QuotaId>> wishes_;
  std::uint64_t lastSerial_ = 0;
  std::uint64_t version_ = 1;
  std::uint64_t refreshed_ = 0;  // the version at which nothing was dirty

  std::vector<Cell> cells_;  // by quota, then common column
  std::size_t stride_ = 4;
  std::vector<std::vector<QuotaId>> rows_;  // by further column: quotas with a cell, in no order
  Columns inUse_;
  std::set<Column> vacant_;                          // of those that were in use
  std::vector<ResourceKey> resources_;               // by column
  std::vector<Column> columnOf_;                     // by resource
  std::vector<std::uint32_t> holders_;               // by column: quotas that name it
  std::vector<std::optional<std::int64_t>> totals_;  // by resource
  std::vector<QuotaId> sharers_;                     // scratch
  std::vector<Claim> claims_;
  std::vector<std::int64_t> runtimes_;
};

}  // namespace koord::scheduler::quota
