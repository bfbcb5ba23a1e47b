#pragma once

// ReservationIndex: the cache of the reservations and of the nodes that they are placed on. It
// follows the store, parses each object once per change and passes the reserve pods to the
// scheduler. The ledger holds what owners use of the reservations; the Cluster holds the nodes. All
// profiles share one ReservationIndex.

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

// Whether owners may use more than what is reserved.
enum class AllocatePolicy : std::uint8_t { Default, Aligned, Restricted };

// A parsed reservation.
struct ReservationEntry {
  std::shared_ptr<const api::Reservation> object;
  // The reserve pod of a reservation that is placed or waits for a node; nullptr if the reservation
  // has ended or cannot be scheduled.
  std::shared_ptr<const api::Pod> unit;
  // True for a pod in operating mode "Reservation". It has no Reservation object and no status, and
  // `unit` is the pod itself.
  bool operating = false;
  std::string error;        // why it cannot be scheduled, with the field's path
  std::string ownersError;  // why no pod can use it
  OwnersId owners = kNoOwners;
  bool available = false;  // its phase says that it is placed
  bool allocateOnce = true;
  bool taken = false;   // in operating mode: its annotation names a current owner
  bool closed = false;  // takes no new owners: unschedulable, or being deleted
  AllocatePolicy policy = AllocatePolicy::Default;
  std::int64_t order = 0;  // 0: no order label
  api::ResourceList allocatable;
  Resources room;                    // `allocatable` as amounts
  std::optional<std::int64_t> pods;  // the number of owners that it takes; nullopt: no limit
  std::vector<ResourceId> names;     // the resources that policy Restricted limits, by name
  Resources reserved;                // the part that no pod may use
  const ReservationUse* use = nullptr;
  NodeId node = kNoNode;  // the node in whose list it is

  const std::string& name() const { return object->metadata.name; }
  const std::string& uid() const { return object->metadata.uid; }
  // Returns true if pods that match may use it now.
  bool usable() const {
    return available && ownersError.empty() && use->counted() && !taken &&
           !(allocateOnce && use->owners > 0);
  }
  // The amount that no owner uses; never negative.
  std::int64_t unused(ResourceId id) const {
    return std::max<std::int64_t>(room.amount(id) - use->requests.amount(id), 0);
  }
  // The amount that owners may still use: unused() less `reserved`.
  std::int64_t remaining(ResourceId id) const {
    return std::max<std::int64_t>(unused(id) - reserved.amount(id), 0);
  }
};
using ReservationPtr = std::shared_ptr<const ReservationEntry>;

class ReservationIndex final : public ClusterListener {
 public:
  explicit ReservationIndex(Handle& handle);
  ~ReservationIndex() override;

  // The instance that all profiles share.
  static ReservationIndex& of(Handle& handle);

  // The reservations that are placed on the node, by name.
  std::span<const ReservationPtr> on(NodeId node) const {
    return node < byNode_.size() ? std::span<const ReservationPtr>(byNode_[node])
                                 : std::span<const ReservationPtr>();
  }
  // The nodes of the reservations that have this list of owners, with duplicates.
  std::span<const NodeId> nodesOf(OwnersId owners) const {
    const auto it = byOwners_.find(owners);
    return it == byOwners_.end() ? std::span<const NodeId>() : std::span<const NodeId>(it->second);
  }
  // Increases when a reservation is placed on a node, leaves its node, or gets other owners.
  std::uint64_t placesVersion() const { return placesVersion_; }
  // Both return nullptr if there is no such reservation.
  ReservationPtr find(const std::string& uid) const;
  ReservationPtr named(const std::string& name) const;
  // By name; pods in operating mode by "namespace/name".
  const std::map<std::string, ReservationPtr>& all() const { return byName_; }

  const OwnerIndex& owners() const { return owners_; }
  const ReservationLedger& ledger() const { return *ledger_; }
  ReservationLedger& ledger() { return *ledger_; }
  LedgerId ledgerId() const { return ledger_->id(); }
  ReservationKind& kind() const { return *kind_; }
  bool isReservePod(const PodInfo& pod) const;

  // Increases with every change that may affect which reservations a pod can use, and where.
  std::uint64_t version() const;
  // The number of distinct orders of usable reservations that come after this order.
  int ordersAfter(std::int64_t order) const;
  // Increases when the result of ordersAfter() may change.
  std::uint64_t ordersVersion() const { return ordersVersion_; }

  // Called with the uid of a reservation when its object, its owners or its node change. There is
  // one listener: the controller, once it runs.
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
  void onPod(const PodPtr& pod);
  void put(const std::shared_ptr<ReservationEntry>& entry, const ReservationPtr& before);
  std::shared_ptr<ReservationEntry> read(const Object& object, const ReservationEntry* before);
  void readCapacity(ReservationEntry& entry);
  void feed(const ReservationEntry* before, const ReservationEntry* after);
  void file(const std::shared_ptr<ReservationEntry>& entry);
  void removeFromIndex(const ReservationPtr& entry);
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
