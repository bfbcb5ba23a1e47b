#pragma once

// PlainReservations: the rules of reservations on API objects alone, for plain evaluation.
//
// A node counts, for each reservation on it, the larger of what is reserved and what its owners ask
// for. A pod that uses a reservation finds the rest of it free, and of all others nothing.

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
    bool bound = false;  // on its node as the API says it, and not only by a choice
  };
  std::map<std::string, Held> held;         // by uid; those whose reserve pods are on nodes
  std::map<std::string, std::string> uses;  // the uid of a pod's reservation, by that of the pod
  std::map<std::string, std::string> policies;  // of all, by uid

  static bool isReservePod(const api::Pod& pod);
  static bool owns(const api::Pod& pod, const api::Reservation& reservation);
  // Whether the pod must run in a reservation, and may run where any is.
  static bool required(const api::Pod& pod);
  static bool ignores(const api::Pod& pod);
  // The uid of the one that the pod says it uses; "": none.
  static std::string reservationOf(const api::Pod& pod);
  // Whether what one of them holds may be the other's: a reserve pod and who uses it.
  static bool mayShare(const api::Pod& a, const api::Pod& b);

  // --- What plain evaluation is told (reference_evaluator.h).
  std::int64_t given(const Model& now, const api::Pod& pod, const api::Node& node,
                     const std::string& resource) const;
  // What owners use of what this reserve pod holds.
  std::int64_t covered(const Model& now, const api::Pod& reservePod,
                       const std::string& resource) const;
  std::vector<std::string> exclude(const Model& now, const api::Pod& pod,
                                   const api::Node& node) const;
  std::vector<std::string> judge(const Model& now, const api::Pod& pod,
                                 const api::Node& node) const;
  // The reservation that the pod would use on the node and what of it, as takesOver() tells it.
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
  // The uid of the one that the pod would use; "": none.
  std::string nominated(const Model& now, const api::Pod& pod, const api::Node& node) const;
  bool concerns(const Model& now, const api::Pod& pod, const std::string& uid) const;
  std::int64_t fullness(const Model& now, const api::Pod& pod, const std::string& uid) const;
};

}  // namespace koord::simulation
