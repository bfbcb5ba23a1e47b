#pragma once

// Grants: what a pod got on its node beyond its requests: CPUs, devices, volumes, a share of a
// reservation, a charge to a quota.
//
// They are part of the pod's record in the Cluster and of its transactions: removing a pod from a
// node (a failed attempt, a simulation, a deletion) releases all its grants, and undoing the
// removal restores them. There is one Ledger for each kind of grant. Its tables (which CPUs of a
// node are free) follow from the records only, so they cannot diverge for long: Cluster::verifyNode
// recomputes a node's tables and compares.
//
//   Reserve        the plugin chooses and calls Cluster::regrant(uid, ledger.id(), grant)
//   assume, undo   Ledger::add and Ledger::remove, with every move of the pod
//   at start       Ledger::read creates grants from the pod's annotations, once per pod and again
//                  with every update of the pod
//
// Grants are immutable and shared. A record without grants costs one word.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/list.h"
#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

class Cluster;

using LedgerId = std::uint16_t;

class Grant {
 public:
  virtual ~Grant() = default;
  // `other` belongs to the same ledger.
  virtual bool equals(const Grant& other) const = 0;
  // The part of the pod's requests that is already counted on this node, because something else
  // reserves it for the pod (the rest of its reservation); nullptr: nothing.
  virtual const Resources* covered() const { return nullptr; }
};
using GrantPtr = std::shared_ptr<const Grant>;

// The grants of one pod, by ledger.
class Grants {
 public:
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  // nullptr if there is none. Valid until the next change.
  const GrantPtr& of(LedgerId ledger) const {
    for (const auto& [id, grant] : list_)
      if (id == ledger) return grant;
    return kNone;
  }
  // Requires that there is no grant of this ledger.
  void add(LedgerId ledger, GrantPtr&& grant) {
    if (list_.empty()) list_.reserve(2);  // a pod with one grant usually gets another
    list_.emplace_back(ledger, std::move(grant));
  }
  // Returns the old grant; nullptr removes it.
  GrantPtr set(LedgerId ledger, GrantPtr grant);
  // fn(ledger, grant)
  template <class F>
  void forEach(F&& fn) const {
    for (const auto& [ledger, grant] : list_) fn(ledger, *grant);
  }

 private:
  static const GrantPtr kNone;
  api::List<std::pair<LedgerId, GrantPtr>> list_;
};

// A pod of a node with its grant, for verification.
struct GrantedPod {
  const PodInfo& pod;
  const Grant& grant;
};

// The tables of one kind of grant. Called by the Cluster only. To write a ledger, derive from
// LedgerOf.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual std::string_view name() const = 0;  // in metrics and messages
  // Returns the grant of a pod that is observed on a node, as its annotations say; nullptr: none.
  // `held` is the grant in its record; return it to keep state that is not in annotations.
  virtual GrantPtr read(const PodInfo& pod, NodeId node, const GrantPtr& held) = 0;
  // Returns true if pods of this pod's shape (pod_shapes.h) have nothing to read. Pods without a
  // grant are not read again then.
  virtual bool hasNothingToRead(const PodInfo& /*pod*/) const { return false; }
  // Returns true if the grant stays the same when the pod is observed again in the same shape.
  // read() is not called then. Must be fast.
  virtual bool unchangedInShape(const PodInfo& /*pod*/, const Grant& /*held*/) const {
    return false;
  }
  // True for a ledger that charges for what a pod uses and must know what other grants cover.
  // readGrants() may correct its grant by the pod's other grants. Called after all ledgers have
  // read the pod, and when a covering grant is added, changed or removed.
  virtual bool readsGrants() const { return false; }
  virtual GrantPtr readGrants(const PodInfo& /*pod*/, const Grants& all) { return all.of(id()); }
  virtual void add(NodeId node, const PodInfo& pod, const Grant& grant) = 0;
  virtual void remove(NodeId node, const PodInfo& pod, const Grant& grant) = 0;
  // Recomputes the node's tables from `pods`, all pods with a grant there, and compares. Returns
  // the difference as text with both values, "" if there is none.
  virtual std::string verify(NodeId node, std::span<const GrantedPod> pods) const = 0;

  // Drops everything that its tables hold for the node; the Cluster then calls add() for each pod
  // with a grant there. False: not supported; add() is not called.
  virtual bool forget(NodeId /*node*/) { return false; }

  // --- Grants that follow from those of other pods: how much of a reservation its owners use. Such
  // a ledger notes in add and remove which grants to recompute, and sets them (Cluster::regrant) in
  // settle(), which is called directly after. Undoing does not call it: the journal contains the
  // grants that it set.
  virtual bool derives() const { return false; }
  virtual void settle(Cluster& /*cluster*/) {}

  LedgerId id() const { return id_; }

 private:
  friend class Cluster;
  LedgerId id_ = 0;  // set by Cluster::addLedger
};

// A ledger whose grants hold a T, which has operator==. If something else can cover the pod's
// requests, T has `const Resources* covered() const`.
template <class T>
class LedgerOf : public Ledger {
 public:
  static GrantPtr grantOf(T value) { return std::make_shared<const Box>(std::move(value)); }
  // The same; override it to share one object among pods with equal grants.
  virtual GrantPtr sharedGrant(T value) { return grantOf(std::move(value)); }
  // The value of this ledger in `grants`; nullptr if there is none.
  const T* in(const Grants& grants) const {
    const GrantPtr& grant = grants.of(id());
    return grant ? &valueOf(*grant) : nullptr;
  }

  GrantPtr read(const PodInfo& pod, NodeId node, const GrantPtr& held) final {
    std::optional<T> value = readValue(pod, node, held ? &valueOf(*held) : nullptr);
    if (!value) return nullptr;
    if (held && valueOf(*held) == *value) return held;
    return sharedGrant(*std::move(value));
  }
  bool unchangedInShape(const PodInfo& pod, const Grant& held) const final {
    return unchangedValue(pod, valueOf(held));
  }
  void add(NodeId node, const PodInfo& pod, const Grant& grant) final {
    addValue(node, pod, valueOf(grant));
  }
  void remove(NodeId node, const PodInfo& pod, const Grant& grant) final {
    removeValue(node, pod, valueOf(grant));
  }
  std::string verify(NodeId node, std::span<const GrantedPod> pods) const final {
    std::vector<std::pair<const PodInfo*, const T*>> held;
    held.reserve(pods.size());
    for (const GrantedPod& each : pods) held.emplace_back(&each.pod, &valueOf(each.grant));
    return verifyValues(node, held);
  }

 protected:
  using Held = std::span<const std::pair<const PodInfo*, const T*>>;

  virtual std::optional<T> readValue(const PodInfo& pod, NodeId node, const T* held) = 0;
  virtual bool unchangedValue(const PodInfo& /*pod*/, const T& /*held*/) const { return false; }
  virtual void addValue(NodeId node, const PodInfo& pod, const T& value) = 0;
  virtual void removeValue(NodeId node, const PodInfo& pod, const T& value) = 0;
  virtual std::string verifyValues(NodeId node, Held held) const = 0;

 private:
  struct Box final : Grant {
    explicit Box(T v) : value(std::move(v)) {}
    bool equals(const Grant& other) const override { return value == valueOf(other); }
    const Resources* covered() const override {
      if constexpr (requires { value.covered(); }) {
        return value.covered();
      } else {
        return nullptr;
      }
    }
    T value;
  };
  // The Cluster passes only a ledger's own grants to it.
  static const T& valueOf(const Grant& grant) { return static_cast<const Box&>(grant).value; }
};

}  // namespace koord::scheduler
