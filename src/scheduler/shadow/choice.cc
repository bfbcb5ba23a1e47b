#include "scheduler/shadow/choice.h"

#include <algorithm>
#include <iterator>

namespace koord::scheduler {

namespace {

// In the order of Match.
constexpr std::string_view kMatchNames[] = {"sameNode",
                                            "equalScore",
                                            "bothWait",
                                            "samePreemption",
                                            "nearbyState",
                                            "worseScore",
                                            "notFeasible",
                                            "onlyIncumbentPlaces",
                                            "onlyShadowPlaces",
                                            "otherPreemption",
                                            "onlyIncumbentPreempts",
                                            "onlyShadowPreempts",
                                            "shadowFailed"};
static_assert(std::size(kMatchNames) == std::size(kMatches));

std::string_view nameOf(Choice::Kind kind) {
  switch (kind) {
    case Choice::Kind::Place:
      return "place";
    case Choice::Kind::Preempt:
      return "preempt";
    case Choice::Kind::Wait:
      return "wait";
    case Choice::Kind::Fail:
      break;
  }
  return "fail";
}

}  // namespace

std::string_view nameOf(Match match) {
  return kMatchNames[static_cast<std::size_t>(match)];
}

bool agrees(Match match) {
  return match <= Match::NearbyState;
}

bool isSame(const Choice& incumbent, const Choice& shadow, bool group) {
  if (incumbent.kind != shadow.kind) return false;
  if (incumbent.kind == Choice::Kind::Wait) return true;
  if (incumbent.kind == Choice::Kind::Preempt && group) return true;
  return incumbent.node == shadow.node;
}

Match agreementOf(const Choice& incumbent, bool tie) {
  switch (incumbent.kind) {
    case Choice::Kind::Place:
      return tie ? Match::EqualScore : Match::SameNode;
    case Choice::Kind::Preempt:
      return Match::SamePreemption;
    default:
      return Match::BothWait;
  }
}

Match differenceOf(const Choice& incumbent, const Choice& shadow, bool feasible) {
  using Kind = Choice::Kind;
  if (shadow.kind == Kind::Fail) return Match::ShadowFailed;
  switch (incumbent.kind) {
    case Kind::Place:
      if (shadow.kind != Kind::Place) return Match::OnlyIncumbentPlaces;
      return feasible ? Match::WorseScore : Match::NotFeasible;
    case Kind::Preempt:
      if (shadow.kind == Kind::Place) return Match::OnlyShadowPlaces;
      return shadow.kind == Kind::Preempt ? Match::OtherPreemption : Match::OnlyIncumbentPreempts;
    default:
      return shadow.kind == Kind::Place ? Match::OnlyShadowPlaces : Match::OnlyShadowPreempts;
  }
}

json::value choiceJson(const Choice& choice) {
  json::object object{{"outcome", json::string(nameOf(choice.kind))}};
  if (!choice.node.empty()) object.emplace("node", choice.node);
  if (!choice.message.empty()) object.emplace("message", choice.message);
  if (!choice.victims.empty()) {
    json::array victims;
    for (const std::string& victim : choice.victims) victims.push_back(json::string(victim));
    object.emplace("victims", std::move(victims));
  }
  return object;
}

}  // namespace koord::scheduler
