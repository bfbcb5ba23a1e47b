#pragma once

// PlainReservations: the rules of reservations on API objects alone, for plain evaluation.
//
// A node counts, for each reservation on it, the larger of what is reserved and what its owners
// request. For a pod that uses a reservation, the unused part of it is free; other reservations are
// not.

#include <map>
#include <string>
#include <vector>

#include "api/reservation.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

class PlainReservations {
 public:
  using Model = scheduler::testing::Model;
  struct Held {
    std::shared_ptr<const api::Reservation> object;
    bool bound = false;  // bound according to the API server, not only chosen
  };
  std::map<std::string, Held> held;  // by uid; of reservations whose reserve pods are on nodes
  std::map<std::string, std::string> uses;      // the uid of a pod's reservation, by the pod's uid
  std::map<std::string, std::string> policies;  // of all reservations, by uid

  static bool isReservePod(const api::Pod& pod);
  static bool owns(const api::Pod& pod, const api::Reservation& reservation);
  // Returns true if the pod must use a reservation.
  static bool required(const api::Pod& pod);
  static bool ignores(const api::Pod& pod);
  // The uid of the reservation in the pod's annotation; "": none.
  static std::string reservationOf(const api::Pod& pod);
  // Returns true if one of them may use what the other holds: a reserve pod and its owner.
  static bool mayShare(const api::Pod& a, const api::Pod& b);

  // --- Rules for plain evaluation (reference_evaluator.h).
  std::int64_t given(const Model& now, const api::Pod& pod, const api::Node& node,
                     const std::string& resource) const;
  // What owners use of this reserve pod's resources.
  std::int64_t covered(const Model& now, const api::Pod& reservePod,
                       const std::string& resource) const;
  std::vector<std::string> exclude(const Model& now, const api::Pod& pod,
                                   const api::Node& node) const;
  std::vector<std::string> judge(const Model& now, const api::Pod& pod,
                                 const api::Node& node) const;
  // The reservation that the pod would use on the node, and the amount, in the form of takesOver().
  std::pair<std::string, std::int64_t> takesOver(const Model& now, const api::Pod& pod,
                                                 const api::Node& node,
                                                 const std::string& resource) const;
  bool hides(const Model& now, const api::Pod& pod, const api::Pod& other) const;
  void score(const Model& now, const api::Pod& pod, scheduler::testing::Outcome& outcome) const;

 private:
  using Matched = std::vector<const std::string*>;  // uids

  std::size_t ownersOf(const Model& now, const std::string& uid) const;
  std::int64_t usedOf(const Model& now, const std::string& uid, const std::string& resource) const;
  std::int64_t unusedOf(const Model& now, const std::string& uid,
                        const std::string& resource) const;
  bool usable(const Model& now, const std::string& uid) const;
  bool matches(const Model& now, const api::Pod& pod, const std::string& uid) const;
  Matched matchedOn(const Model& now, const api::Pod& pod, const std::string& node) const;
  bool fitsNode(const Model& now, const api::Pod& pod, const api::Node& node,
                const std::string* with, std::size_t matched) const;
  bool takes(const Model& now, const api::Pod& pod, const api::Node& node, const std::string& uid,
             std::size_t matched) const;
  // The uid of the reservation that the pod would use; "": none.
  std::string nominated(const Model& now, const api::Pod& pod, const api::Node& node) const;
  bool concerns(const Model& now, const api::Pod& pod, const std::string& uid) const;
  std::int64_t fullness(const Model& now, const api::Pod& pod, const std::string& uid) const;
};

}  // namespace koord::simulation
