#pragma once

// Choice: what a scheduler decided about a pod, the incumbent or its shadow; and how two choices
// compare.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace koord::scheduler {

struct Choice {
  enum class Kind {
    Place,    // on `node`
    Preempt,  // pods on `node`, for which it is nominated
    Wait,     // no node: see message
    Fail,     // no decision, because of an error
  };
  Kind kind = Kind::Wait;
  std::string node;
  std::string message;               // Wait, Fail: the reason, as in the pod's condition
  std::vector<std::string> victims;  // Preempt, the shadow's only: NAMESPACE/NAME
};

enum class Match {
  // Both agree on the state of then.
  SameNode,
  EqualScore,      // another node with the same total score
  BothWait,        // neither has a node
  SamePreemption,  // both preempt on this node, or on one of equal cost
  // Both agree on a state at most a moment earlier or later (shadow.h).
  NearbyState,
  // They differ.
  WorseScore,             // the shadow scores another node higher
  NotFeasible,            // a filter of the shadow rejects the incumbent's node
  OnlyIncumbentPlaces,    // the shadow has no node for the pod
  OnlyShadowPlaces,       // the incumbent has no node for it without preemption
  OtherPreemption,        // both preempt, on nodes of different cost
  OnlyIncumbentPreempts,  // the shadow finds no victims
  OnlyShadowPreempts,     // the incumbent evicts no pod
  ShadowFailed,           // the shadow's decision ended with an error
};
inline constexpr Match kMatches[] = {Match::SameNode,
                                     Match::EqualScore,
                                     Match::BothWait,
                                     Match::SamePreemption,
                                     Match::NearbyState,
                                     Match::WorseScore,
                                     Match::NotFeasible,
                                     Match::OnlyIncumbentPlaces,
                                     Match::OnlyShadowPlaces,
                                     Match::OtherPreemption,
                                     Match::OnlyIncumbentPreempts,
                                     Match::OnlyShadowPreempts,
                                     Match::ShadowFailed};

std::string_view nameOf(Match match);  // "sameNode"
// True if both choices are the same, also a moment earlier or later.
bool agrees(Match match);

// True if the choices are the same. A group preempts on several nodes, so the node does not matter
// for its members.
bool isSame(const Choice& incumbent, const Choice& shadow, bool group);
// The kind of agreement of two choices that are the same. tie: the shadow preferred the incumbent's
// choice among equal ones.
Match agreementOf(const Choice& incumbent, bool tie);
// The kind of difference of two choices that are not the same. feasible: the shadow's filters pass
// the incumbent's node.
Match differenceOf(const Choice& incumbent, const Choice& shadow, bool feasible);

json::value choiceJson(const Choice& choice);

}  // namespace koord::scheduler
