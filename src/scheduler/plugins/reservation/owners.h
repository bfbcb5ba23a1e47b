#pragma once

// Which pods may use a reservation: its `owners`, compiled, and an index over all of them.
//
// There may be thousands of reservations, and every pod is matched with all of them each time that
// it is tried. Two things make that cheap:
// - Equal lists of owners, as the reservations of one job have, are compiled and matched once.
// - Each entry of a list is indexed by one thing that a pod must have to match it: a label with its
//   value, a uid or a name. A pod is tried only against the entries under its own labels, names and
//   owners. Entries that require no such thing ("everything but ...") are tried against every pod.
//
// The id of a list is never reused, so that it can stand for the list in a signature.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/reservation.h"
#include "api/selector.h"
#include "base/result.h"
#include "scheduler/engine/symbols.h"

namespace koord::scheduler {

using OwnersId = std::uint32_t;
inline constexpr OwnersId kNoOwners = 0;

// One list: a pod must match all fields of at least one entry.
class OwnerMatcher {
 public:
  // The error names the entry and its field.
  static Result<OwnerMatcher> compile(const api::List<api::ReservationOwner>& owners);
  bool matches(const api::Pod& pod) const;
  // Returns true if the pod matches the list and the label selector of an entry that has one.
  bool matchesByLabels(const api::Pod& pod) const;

 private:
  friend class OwnerIndex;
  struct Entry {
    api::ReservationOwner owner;
    api::Selector labels;  // matches everything if the entry has no selector
    bool matches(const api::Pod& pod) const;
  };
  std::vector<Entry> entries_;
};

class OwnerIndex {
 public:
  // Returns the id of the list, or kNoOwners and the reason in `error`. Each call must be paired
  // with a call of release().
  OwnersId add(const api::List<api::ReservationOwner>& owners, std::string& error);
  void release(OwnersId id);
  bool empty() const { return lists_.empty(); }
  // Returns true if the pod matches the label selector of an entry; entries without a selector do
  // not count.
  bool selectsByLabels(OwnersId id, const api::Pod& pod) const;
  // The lists that match the pod, ascending.
  std::vector<OwnersId> matching(const api::Pod& pod) const;
  // Increases when a list is added or removed.
  std::uint64_t version() const { return version_; }

 private:
  using OwnersByLabel =
      std::unordered_map<std::string, std::vector<OwnersId>, TextHash, std::equal_to<>>;
  struct List {
    OwnerMatcher matcher;
    std::string text;
    std::size_t users = 0;
  };
  // The index lists of an entry; anything_ if the entry is tried against every pod.
  std::vector<std::vector<OwnersId>*> placesOf(const OwnerMatcher::Entry& entry);
  template <class F>
  void forEachPlace(const OwnerMatcher& matcher, F&& fn);

  std::map<OwnersId, List> lists_;
  std::unordered_map<std::string, OwnersId> byText_;
  OwnersId last_ = kNoOwners;
  std::uint64_t version_ = 0;
  // By label key, then value.
  std::unordered_map<std::string, OwnersByLabel, TextHash, std::equal_to<>> labels_;
  OwnersByLabel podUids_;
  OwnersByLabel podNames_;
  OwnersByLabel controllers_;  // by uid or name of an owner reference
  std::vector<OwnersId> anything_;
};

}  // namespace koord::scheduler
