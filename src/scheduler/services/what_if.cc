#include "scheduler/services/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "model/well_known.h"
#include "scheduler/framework/tentative.h"

namespace koord::scheduler {

namespace {

constexpr const char* kAvoided = "node(s) are left or avoided by the pod";

// One simulation; lives inside a transaction.
class Question {
 public:
  // outOfTime: called before every step of every move.
  Question(Scheduler& scheduler, Cluster& cluster, const std::vector<WhatIfMove>& moves,
           WhatIfAnswer& answer, std::function<bool()> outOfTime)
      : scheduler_(scheduler),
        cluster_(cluster),
        moves_(moves),
        answer_(answer),
        outOfTime_(std::move(outOfTime)) {}

  // Makes the move at this position with all moves of its group. False: the time was over, and none
  // of them was made.
  bool makeMoves(const std::vector<std::size_t>& together);
  void describeNodes();

 private:
  WhatIfPlace& placeOf(std::size_t i) { return answer_.places[i]; }
  // Removes the pod from its node. False: the move is not possible.
  bool leave(std::size_t i);
  void placeMove(std::size_t i);
  SearchResult search(ProfileRuntime& profile, CycleState& state, const PodPtr& pod,
                      const NodeSet& avoided);
  void refuse(WhatIfPlace& place, const SearchResult& result);
  void remember(NodeId node);
  void refuseGroup(const std::vector<std::size_t>& together, std::size_t culprit);
  void dropUnrequested(const std::vector<std::size_t>& together);

  Scheduler& scheduler_;
  Cluster& cluster_;
  const std::vector<WhatIfMove>& moves_;
  WhatIfAnswer& answer_;
  const std::function<bool()> outOfTime_;
  std::map<std::string, std::pair<NodeId, WhatIfNode>> nodes_;
};

// The pod as its controller would recreate it, or as the Reservation that is created for it
// beforehand: a copy that uses no other Reservation (plugins/reservation/reservation_request.h).
std::shared_ptr<const api::Pod> successorOf(const WhatIfMove& move) {
  auto pod = std::make_shared<api::Pod>(*move.pod);
  if (move.stays) {
    pod->metadata.uid += "/what-if";
    pod->metadata.annotations[std::string(model::kAnnotationReservePod)] = "true";
  }
  pod->metadata.deletionTimestamp.reset();
  for (const std::string_view key : model::kGrantAnnotations)
    pod->metadata.annotations.erase(std::string(key));
  pod->spec.nodeName.clear();
  pod->status = {};
  return pod;
}

void Question::remember(NodeId node) {
  const std::string& name = cluster_.node(node).name;
  if (nodes_.contains(name)) return;
  WhatIfNode picture{.name = name,
                     .podsAllowed = cluster_.allowedPods()[node],
                     .podsBefore = cluster_.podCount()[node]};
  for (ResourceId id = 0; id < cluster_.resources().size(); ++id) {
    const std::int64_t all = Cluster::columnAt(cluster_.allocatable(id), node);
    const std::int64_t used = Cluster::columnAt(cluster_.requested(id), node);
    picture.amounts.push_back({cluster_.resources().name(id), id, all, used, used});
  }
  nodes_.emplace(name, std::pair(node, std::move(picture)));
}

void Question::describeNodes() {
  for (auto& [name, entry] : nodes_) {
    auto& [node, picture] = entry;
    picture.podsAfter = cluster_.podCount()[node];
    for (auto& amount : picture.amounts)
      amount.after = Cluster::columnAt(cluster_.requested(amount.id), node);
    std::erase_if(picture.amounts, [](const WhatIfNode::Amount& amount) {
      return amount.allocatable == 0 && amount.before == 0 && amount.after == 0;
    });
    answer_.nodes.push_back(std::move(picture));
  }
}

bool Question::leave(std::size_t i) {
  const WhatIfMove& move = moves_[i];
  WhatIfPlace& place = placeOf(i);
  place.state = WhatIfPlace::State::Invalid;
  if (!scheduler_.profiles().contains(move.pod->spec.schedulerName)) {
    place.message = fmt::format("this scheduler has no profile {}",
                                std::string_view(move.pod->spec.schedulerName));
    return false;
  }
  const Cluster::PodRecord* record = cluster_.findPod(move.pod->metadata.uid);
  const std::string at = record ? cluster_.node(record->node).name : std::string();
  if (!move.from.empty() && at != move.from) {
    place.message = at.empty() ? fmt::format("the pod is on no node, not on {}", move.from)
                               : fmt::format("the pod is on node {}, not on {}", at, move.from);
    return false;
  }
  if (record) {
    remember(record->node);
    if (!move.stays) cluster_.removePod(move.pod->metadata.uid);
  }
  return true;
}

// Usually nothing needs to be avoided, and a search of all nodes is the fast one.
SearchResult Question::search(ProfileRuntime& profile, CycleState& state, const PodPtr& pod,
                              const NodeSet& avoided) {
  SearchResult result = profile.search().find(state, pod);
  if (!result.status.ok() || !avoided.contains(result.node)) return result;
  NodeSet others = cluster_.live();
  others.subtract(avoided);
  state = CycleState();
  result = profile.search().find(state, pod, {&others, {}});
  Diagnosis& diagnosis = result.diagnosis;
  diagnosis.filterPlugins = profile.search().filterNames();
  if (diagnosis.absent.size() == cluster_.liveCount() - others.size())
    diagnosis.absentStatus = Status::unresolvable(kAvoided);
  return result;
}

void Question::refuse(WhatIfPlace& place, const SearchResult& result) {
  place.state = WhatIfPlace::State::Unschedulable;
  const bool diagnosed = result.status.rejected() && result.diagnosis.totalNodes > 0;
  place.message = diagnosed ? result.diagnosis.message() : result.status.message();
  if (diagnosed) place.reasons = result.diagnosis.entries();
}

void Question::placeMove(std::size_t i) {
  const WhatIfMove& move = moves_[i];
  WhatIfPlace& place = placeOf(i);
  ProfileRuntime& profile = *scheduler_.profiles().find(move.pod->spec.schedulerName)->second;
  const PodPtr pod = scheduler_.describe(successorOf(move));
  NodeSet avoided;
  for (const std::string& name : move.avoid)
    if (const auto node = cluster_.findNode(name)) avoided.insert(*node);
  CycleState state;
  SearchResult result = search(profile, state, pod, avoided);
  if (!result.status.ok()) return refuse(place, result);
  remember(result.node);
  if (const auto counted = cluster_.assume(pod, result.node); !counted) {
    place.state = WhatIfPlace::State::Invalid;
    place.message = counted.error().message;
    return;
  }
  if (const Status given = grantTentatively(profile.profile(), pod, result.node); !given.ok()) {
    place.state = WhatIfPlace::State::Unschedulable;
    place.message = fmt::format("node {}: {}", cluster_.node(result.node).name, given.message());
    place.reasons = {{given.plugin(), given.code, given.reasons(), 1}};
    return;
  }
  place.state = WhatIfPlace::State::Placed;
  place.node = cluster_.node(result.node).name;
  place.feasible = result.feasible;
}

void Question::refuseGroup(const std::vector<std::size_t>& together, std::size_t culprit) {
  const std::string why =
      fmt::format("pod {} of its group has no place: {}",
                  api::keyOf(moves_[culprit].pod->metadata).toString(), placeOf(culprit).message);
  for (const std::size_t i : together)
    if (i != culprit) placeOf(i) = {.state = WhatIfPlace::State::GroupRefused, .message = why};
}

void Question::dropUnrequested(const std::vector<std::size_t>& together) {
  for (const std::size_t i : together) placeOf(i) = {};
}

bool Question::makeMoves(const std::vector<std::size_t>& together) {
  Cluster::Transaction attempt(cluster_);
  const auto refused = [&](std::size_t culprit) {
    refuseGroup(together, culprit);
    return true;
  };
  for (const std::size_t i : together) {
    if (outOfTime_()) return dropUnrequested(together), false;
    if (!leave(i)) return refused(i);
  }
  for (const std::size_t i : together) {
    if (outOfTime_()) return dropUnrequested(together), false;
    placeMove(i);
    if (placeOf(i).state != WhatIfPlace::State::Placed) return refused(i);
  }
  attempt.commit();
  return true;
}

// Moves that are made together, in the order of the first move of each group.
std::vector<std::vector<std::size_t>> inGroups(const std::vector<WhatIfMove>& moves) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (moves[i].group.empty()) {
      groups.push_back({i});
    } else if (const auto [it, fresh] = known.emplace(moves[i].group, groups.size()); fresh) {
      groups.push_back({i});
    } else {
      groups[it->second].push_back(i);
    }
  }
  return groups;
}

}  // namespace

std::string_view nameOf(WhatIfPlace::State state) {
  switch (state) {
    case WhatIfPlace::State::Placed:
      return "placed";
    case WhatIfPlace::State::Unschedulable:
      return "unschedulable";
    case WhatIfPlace::State::GroupRefused:
      return "groupRefused";
    case WhatIfPlace::State::Invalid:
      return "invalid";
    case WhatIfPlace::State::NotTried:
      break;
  }
  return "notAsked";
}

WhatIfAnswer whatIf(Scheduler& scheduler, const std::vector<WhatIfMove>& moves, Duration limit) {
  WhatIfAnswer answer;
  answer.places.resize(moves.size());
  if (moves.empty() || scheduler.profiles().empty()) return answer;
  Handle& handle = *scheduler.profiles().begin()->second;
  Executor& executor = handle.executor();
  const SteadyTime since = executor.steadyNow();
  {
    Cluster::Transaction whatIf(handle.cluster());
    Question question(scheduler, handle.cluster(), moves, answer,
                      [&] { return executor.steadyNow() - since > limit; });
    for (const auto& together : inGroups(moves))
      if (!question.makeMoves(together)) break;
    question.describeNodes();
  }
  for (WhatIfPlace& place : answer.places)
    if (place.state == WhatIfPlace::State::NotTried)
      place.message = "the time limit of the request was reached: try again";
  answer.took = executor.steadyNow() - since;
  return answer;
}

}  // namespace koord::scheduler
