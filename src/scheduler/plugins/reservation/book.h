#pragma once

// ReservationBook: the reservations there are, read once per change of an object, and where they
// are. It follows the store and hands their reserve pods to the scheduler; what owners use of them is
// in the ledger, and what nodes have is in the Cluster. One for all profiles.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/framework/handle.h"
#include "scheduler/plugins/reservation/ledger.h"
#include "scheduler/plugins/reservation/owners.h"
#include "scheduler/plugins/reservation/reservation_object.h"

namespace koord::scheduler {

class ReservationKind;

// How owners may go beyond what is reserved.
enum class AllocatePolicy : std::uint8_t { Default, Aligned, Restricted };

// A reservation as it is read from its object.
struct ReservationEntry {
  std::shared_ptr<const api::Reservation> object;
  // While it waits for a node or has one; nullptr: it is over, or cannot be scheduled.
  std::shared_ptr<const api::Pod> unit;
  // In operating mode "Reservation": the pod that is one. There is no object of its own, nobody writes a
  // status, and `unit` is the pod.
  bool operating = false;
  std::string error;        // why it cannot be scheduled, with the field
  std::string ownersError;  // why nobody can use it
  OwnersId owners = kNoOwners;
  bool available = false;  // placed, says its phase
  bool allocateOnce = true;
  bool taken = false;   // in operating mode: it says that somebody uses it
  bool closed = false;  // takes no new owners: unschedulable, or being deleted
  AllocatePolicy policy = AllocatePolicy::Default;
  std::int64_t order = 0;  // 0: it has none
  api::ResourceList allocatable;
  Resources room;                    // the same as amounts
  std::optional<std::int64_t> pods;  // how many owners it takes, where it says so
  std::vector<ResourceId> names;     // what it limits under Restricted, by name
  Resources reserved;                // what of it nobody may use
  const ReservationUse* use = nullptr;
  NodeId node = kNoNode;  // where it is filed

  const std::string& name() const { return object->metadata.name; }
  const std::string& uid() const { return object->metadata.uid; }
  // Whether pods that match may use it now.
  bool usable() const {
    return available && ownersError.empty() && use->counted() && !taken &&
           !(allocateOnce && use->owners > 0);
  }
  // What of it no owner uses; never negative.
  std::int64_t unused(ResourceId id) const {
    return std::max<std::int64_t>(room.amount(id) - use->requests.amount(id), 0);
  }
  // What of that owners may still have.
  std::int64_t remaining(ResourceId id) const {
    return std::max<std::int64_t>(unused(id) - reserved.amount(id), 0);
  }
};
using ReservationPtr = std::shared_ptr<const ReservationEntry>;

class ReservationBook final : public ClusterListener {
 public:
  explicit ReservationBook(Handle& handle);
  ~ReservationBook() override;

  // The one of all profiles.
  static ReservationBook& of(Handle& handle);

  // Those that are placed on the node, by name.
  std::span<const ReservationPtr> on(NodeId node) const {
    return node < byNode_.size() ? std::span<const ReservationPtr>(byNode_[node])
                                 : std::span<const ReservationPtr>();
  }
  // The nodes of those with this list of owners, with repeats.
  std::span<const NodeId> nodesOf(OwnersId owners) const {
    const auto it = byOwners_.find(owners);
    return it == byOwners_.end() ? std::span<const NodeId>() : std::span<const NodeId>(it->second);
  }
  // Rises when one comes to a node, leaves it, or has other owners.
  std::uint64_t placesVersion() const { return placesVersion_; }
  // nullptr when there is none.
  ReservationPtr find(const std::string& uid) const;
  ReservationPtr named(const std::string& name) const;
  // By name; pods in operating mode by namespace and name.
  const std::map<std::string, ReservationPtr>& all() const { return byName_; }

  const OwnerIndex& owners() const { return owners_; }
  const ReservationLedger& ledger() const { return *ledger_; }
  ReservationLedger& ledger() { return *ledger_; }
  LedgerId ledgerId() const { return ledger_->id(); }
  ReservationKind& kind() const { return *kind_; }
  bool isReservePod(const PodInfo& pod) const;

  // Rises with everything that may change which reservations a pod can use, and where.
  std::uint64_t version() const;
  // How many orders come after this one, of those that usable reservations have.
  int ordersAfter(std::int64_t order) const;
  // Rises when that may differ.
  std::uint64_t ordersVersion() const { return ordersVersion_; }

  // Called with the uid of a reservation of which something has changed: the object, its owners,
  // its node. One listener: the controller, once it runs.
  std::function<void(const std::string& uid)> onChange;

  // ClusterListener
  void podAdded(NodeId, const PodPtr&) override {}
  void podRemoved(NodeId, const PodPtr&) override {}
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId node) override;

 private:
  using Object = std::shared_ptr<const api::Reservation>;

  void changed(const Object& before, const Object& after);
  void gone(const Object& last);
  void seen(const Object& object);
  void podChanged(const PodPtr& before, const PodPtr& after);
  void podSeen(const PodPtr& pod);
  void put(const std::shared_ptr<ReservationEntry>& entry, const ReservationPtr& before);
  std::shared_ptr<ReservationEntry> read(const Object& object, const ReservationEntry* before);
  void readRoom(ReservationEntry& entry);
  void feed(const ReservationEntry* before, const ReservationEntry* after);
  void file(const std::shared_ptr<ReservationEntry>& entry);
  void unfile(const ReservationPtr& entry);
  void countOrder(std::int64_t order, int by);

  Handle& handle_;
  Cluster& cluster_;
  std::unique_ptr<ReservationKind> kind_;
  std::unique_ptr<ReservationLedger> ledger_;
  OwnerIndex owners_;
  std::unordered_map<std::string, ReservationPtr> byUid_;
  std::map<std::string, ReservationPtr> byName_;
  std::vector<std::vector<ReservationPtr>> byNode_;
  std::unordered_map<OwnersId, std::vector<NodeId>> byOwners_;
  std::map<std::int64_t, int> orders_;
  std::uint64_t version_ = 1;
  std::uint64_t placesVersion_ = 1;
  std::uint64_t ordersVersion_ = 1;
};

}  // namespace koord::scheduler
