#pragma once

// Grants: what a pod was given on its node beyond the room that its requests take: CPUs, devices,
// volumes, a share of a reservation, a charge to a quota.
//
// They are part of the pod's record in the Cluster and of its transactions: whoever takes a pod off
// a node (a failed attempt, a what-if question, a deletion) takes back all that it was given, and
// undoing that gives it back. There is one Ledger for each kind of thing. Its tables (which CPUs of
// a node are free) follow from the records and from nothing else, so that they cannot disagree with
// them for long: Cluster::verifyNode derives a node's tables anew and compares.
//
//   Reserve        the plugin chooses and calls Cluster::regrant(uid, ledger.id(), grant)
//   assume, undo   Ledger::add and Ledger::remove, with every move of the pod
//   at start       Ledger::read makes grants of what annotations say, once per pod, and again with
//                  every update of the pod
//
// Grants are immutable and shared; a record without grants costs one word.

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
  // The other one is of the same ledger.
  virtual bool equals(const Grant& other) const = 0;
  // What of the pod's requests is counted on this node already, because something else holds it
  // there for the pod (the rest of its reservation); nullptr: nothing.
  virtual const Resources* covered() const { return nullptr; }
};
using GrantPtr = std::shared_ptr<const Grant>;

// What one pod was given, by ledger.
class Grants {
 public:
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  // nullptr when there is none. Good until the next change.
  const GrantPtr& of(LedgerId ledger) const {
    for (const auto& [id, grant] : list_)
      if (id == ledger) return grant;
    return kNone;
  }
  // Of a ledger of which nothing is there.
  void add(LedgerId ledger, GrantPtr&& grant) {
    if (list_.empty()) list_.reserve(2);  // whoever has one mostly has another
    list_.emplace_back(ledger, std::move(grant));
  }
  // Returns what was there; nullptr takes it away.
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

// A pod of a node, as ledgers are asked to add it up.
struct GrantedPod {
  const PodInfo& pod;
  const Grant& grant;
};

// The tables of one kind of thing. Called by the Cluster only; see LedgerOf for writing one.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual std::string_view name() const = 0;  // in metrics and messages
  // What a pod that is seen on a node was given, as its annotations say; `held` is what its record
  // says so far. nullptr: nothing. What is written down nowhere is kept by returning `held`.
  virtual GrantPtr read(const PodInfo& pod, NodeId node, const GrantPtr& held) = 0;
  // Whether it has nothing to read in pods of this one's shape (pod_shapes.h): those that hold nothing of
  // it are not read again.
  virtual bool silent(const PodInfo& /*pod*/) const { return false; }
  // Whether what is held stays what it is, now that the pod is seen again in the same shape: then it is not
  // read. Must be fast.
  virtual bool staysInShape(const PodInfo& /*pod*/, const Grant& /*held*/) const { return false; }
  // A ledger that charges for what a pod takes has to know what else covers it. It may correct its
  // grant by the pod's others: after all ledgers have read the pod, and whenever one of them that covers
  // something comes, changes or goes while it has a grant.
  virtual bool readsGrants() const { return false; }
  virtual GrantPtr readGrants(const PodInfo& /*pod*/, const Grants& all) { return all.of(id()); }
  virtual void add(NodeId node, const PodInfo& pod, const Grant& grant) = 0;
  virtual void remove(NodeId node, const PodInfo& pod, const Grant& grant) = 0;
  // Derives the node's tables from these, which are all of its pods that hold something, and
  // compares; the difference in words with both values, "" when there is none.
  virtual std::string verify(NodeId node, std::span<const GrantedPod> pods) const = 0;

  // Drops all that its tables have of the node; add() follows for each pod there that holds something.
  // False: it cannot, and nothing follows.
  virtual bool forget(NodeId /*node*/) { return false; }

  // --- Grants that follow from those of other pods: how much of a reservation its owners use. Such
  // a ledger notes in add and remove whose grants have to be worked out anew, and hands them out
  // (Cluster::regrant) when it is asked to, which is right after. Undoing needs no such call: what
  // was handed out is undone with the rest.
  virtual bool derives() const { return false; }
  virtual void settle(Cluster& /*cluster*/) {}

  LedgerId id() const { return id_; }

 private:
  friend class Cluster;
  LedgerId id_ = 0;  // given by Cluster::addLedger
};

// A ledger whose grants hold a T, which has operator==. Where the pod's requests are covered by
// something else, T has `const Resources* covered() const`.
template <class T>
class LedgerOf : public Ledger {
 public:
  static GrantPtr grantOf(T value) { return std::make_shared<const Box>(std::move(value)); }
  // The same, where many pods are given the same: one for all of them.
  virtual GrantPtr sharedGrant(T value) { return grantOf(std::move(value)); }
  // What these hold of this ledger; nullptr when nothing.
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
  bool staysInShape(const PodInfo& pod, const Grant& held) const final {
    return staysValue(pod, valueOf(held));
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
  virtual bool staysValue(const PodInfo& /*pod*/, const T& /*held*/) const { return false; }
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
  // The Cluster hands a ledger its own grants only.
  static const T& valueOf(const Grant& grant) { return static_cast<const Box&>(grant).value; }
};

}  // namespace koord::scheduler
