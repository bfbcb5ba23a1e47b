#pragma once

// Who may use a reservation: its `owners`, compiled, and an index over all of them.
//
// There may be thousands of reservations, and every pod has to be matched with all of them each
// time that it is tried. Two things make that cheap. Equal lists of owners, as the reservations of
// one job have, are compiled and matched once. And each entry of a list is filed under one thing
// that a pod must have to be matched by it: a label with its value, a uid, a name; a pod is then
// tried against what is filed under its own labels, names and owners only. Entries that name no such
// thing ("everybody but ...") are tried against every pod.
//
// The number of a list is never used again, so that it can stand for the list in a signature.

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

// One list: the entries are alternatives, the fields of an entry must all match.
class OwnerMatcher {
 public:
  // The error names the entry and its field.
  static Result<OwnerMatcher> compile(const api::List<api::ReservationOwner>& owners);
  bool matches(const api::Pod& pod) const;
  // Whether it does, and the labels of an entry that asks for any do.
  bool matchesByLabels(const api::Pod& pod) const;

 private:
  friend class OwnerIndex;
  struct Entry {
    api::ReservationOwner owner;
    api::Selector labels;  // everything, where none are asked for
    bool matches(const api::Pod& pod) const;
  };
  std::vector<Entry> entries_;
};

class OwnerIndex {
 public:
  // The number of the list; kNoOwners with what is wrong with it in `error`. Each call is to be
  // matched by one of release().
  OwnersId add(const api::List<api::ReservationOwner>& owners, std::string& error);
  void release(OwnersId id);
  bool empty() const { return lists_.empty(); }
  // Whether the list matches the pod, and asks for labels that it has.
  bool selectsByLabels(OwnersId id, const api::Pod& pod) const;
  // The lists that match the pod, ascending.
  std::vector<OwnersId> matching(const api::Pod& pod) const;
  // Rises when a list comes or goes.
  std::uint64_t version() const { return version_; }

 private:
  using Filed = std::unordered_map<std::string, std::vector<OwnersId>, TextHash, std::equal_to<>>;
  struct List {
    OwnerMatcher matcher;
    std::string text;
    std::size_t users = 0;
  };
  // What an entry is filed under; nullptr: it is tried against every pod.
  std::vector<std::vector<OwnersId>*> placesOf(const OwnerMatcher::Entry& entry);
  template <class F>
  void forEachPlace(const OwnerMatcher& matcher, F&& fn);

  std::map<OwnersId, List> lists_;
  std::unordered_map<std::string, OwnersId> byText_;
  OwnersId last_ = kNoOwners;
  std::uint64_t version_ = 0;
  // By label key, then value.
  std::unordered_map<std::string, Filed, TextHash, std::equal_to<>> labels_;
  Filed podUids_;
  Filed podNames_;
  Filed controllers_;  // by uid or name of an owner reference
  std::vector<OwnersId> anything_;
};

}  // namespace koord::scheduler
