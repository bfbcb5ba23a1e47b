#include "scheduler/plugins/coscheduling/network_placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "kube/events.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/tentative.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kIndex = "gang.scheduling.koordinator.sh/network-topology-index";
constexpr std::size_t kPlans = 4;
constexpr std::size_t kMaxReportedScopes = 16;
const std::string kPluginName = "Coscheduling";

std::int64_t indexOf(const PodInfo& pod) {
  const std::string* text = api::findIn(pod.pod->metadata.annotations, kIndex);
  std::int64_t index = -1;
  if (!text) return index;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), index);
  return error == std::errc() && end == text->data() + text->size() ? index : -1;
}

// A member whose index is invalid gets an event; it comes after those that have one.
void reportInvalidIndex(Handle& handle, std::span<const PodPtr> members) {
  const auto wrong = std::ranges::find_if(members, [](const PodPtr& pod) {
    return api::findIn(pod->pod->metadata.annotations, kIndex) && indexOf(*pod) < 0;
  });
  if (wrong == members.end() || !handle.events()) return;
  handle.events()->record(
      handle.kindOf(**wrong).reference(**wrong), "Warning", "InvalidGang",
      fmt::format("metadata.annotations[{}]: Invalid value: \"{}\": must be a non-negative integer",
                  kIndex, *api::findIn((*wrong)->pod->metadata.annotations, kIndex)),
      "Scheduling");
}

// The wish's rules, by level of the tree; an error names a layer that does not exist.
Result<NetworkDemand> demandOf(const std::vector<NetworkGather>& rules, const NetworkTree& tree) {
  NetworkDemand demand;
  demand.multiples.resize(tree.layers().depth() + 1);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto level = tree.layers().levelOf(rules[i].layer);
    if (!level) {
      std::vector<std::string> there;
      for (const NetworkLayer& layer : tree.layers().list) there.push_back(layer.name);
      return fail(ErrorCode::Invalid, fmt::format("gatherStrategy[{}].layer: Not found: \"{}\"; "
                                                  "ClusterNetworkTopology default has {}",
                                                  i, rules[i].layer, fmt::join(there, ", ")));
    }
    if (rules[i].required) demand.gatherLevel = std::max(demand.gatherLevel, *level);
    if (rules[i].multiple > 1) demand.multiples[*level] = rules[i].multiple;
  }
  return demand;
}

std::string multiplesText(const NetworkDemand& demand, const NetworkTree& tree) {
  std::vector<std::string> texts;
  for (std::size_t level = 0; level < demand.multiples.size(); ++level)
    if (demand.multiples[level] > 1)
      texts.push_back(
          fmt::format("{}={}", tree.layers().list[level].name, demand.multiples[level]));
  std::ranges::sort(texts);
  return texts.empty() ? ""
                       : fmt::format("; podCountMultiple constraints: {}", fmt::join(texts, ", "));
}

std::string scopesText(const NetworkPlanner& planner) {
  std::vector<std::string> texts = planner.scopes();
  const std::size_t told = std::min(texts.size(), kMaxReportedScopes);
  const std::string more =
      told < texts.size() ? fmt::format(";{} more", texts.size() - told) : std::string();
  texts.resize(told);
  for (std::string& text : texts) text.insert(0, "topology topologyNode ");
  return fmt::format("{}{}", fmt::join(texts, ";"), more);
}

}  // namespace

bool networkOrder(const PodInfo& a, const PodInfo& b) {
  const std::int64_t ofA = indexOf(a);
  const std::int64_t ofB = indexOf(b);
  if (ofA >= 0 && ofB >= 0 && ofA != ofB) return ofA < ofB;
  if ((ofA >= 0) != (ofB >= 0)) return ofA >= 0;
  return a.pod->metadata.name < b.pod->metadata.name;
}

// Computes what nodes offer to these members.
class NetworkPlacement::Trial {
 public:
  Trial(Handle& handle, std::span<const PodPtr> members)
      : handle_(handle),
        cluster_(handle.cluster()),
        members_(members),
        states_(members.size()),
        tentativePlugins_(handle.profile().offers<TentativePlugin>()) {}

  // If the result is not Success, nothing is offered; the result says why.
  SearchResult run(std::vector<NetworkOffer>& offers);
  // Why nodes do not take more: "0/5 nodes are available: ...", and which plugin says so.
  Diagnosis reasons();

 private:
  bool prepare(std::size_t member);
  Status fits(std::size_t member, NodeId node, bool others);
  void note(NodeId node, const Status& status);

  Handle& handle_;
  Cluster& cluster_;
  const std::span<const PodPtr> members_;
  std::vector<CycleState> states_;
  const std::vector<TentativePlugin*> tentativePlugins_;
  NodeSet feasible_;
  Verdicts verdicts_;
};

Status NetworkPlacement::Trial::fits(std::size_t member, NodeId node, bool others) {
  NodeSearch& search = handle_.search();
  // Verdicts of other plugins may depend on the members that are already there.
  if (others && !search.decidingClass(states_[member])) {
    CycleState state;
    if (SearchResult prepared = search.prepare(state, members_[member]); !prepared.status.ok())
      return prepared.status;
    return search.filterNode(state, members_[member], node);
  }
  return search.filterNode(states_[member], members_[member], node);
}

void NetworkPlacement::Trial::note(NodeId node, const Status& status) {
  const auto names = handle_.search().filterNames();
  const auto name = std::ranges::find(names, status.plugin());
  if (name == names.end()) return;
  verdicts_.set(node, verdicts_.intern({static_cast<std::uint16_t>(name - names.begin()),
                                        status.code, status.reasons()}));
}

SearchResult NetworkPlacement::Trial::run(std::vector<NetworkOffer>& offers) {
  SearchResult first = handle_.search().filterOnly(states_[0], members_[0], {}, feasible_);
  if (!first.status.ok()) return first;
  for (std::size_t i = 1; i < members_.size(); ++i) {
    SearchResult prepared = handle_.search().prepare(states_[i], members_[i]);
    if (!prepared.status.ok()) return prepared;
  }
  verdicts_.clear(cluster_.capacity());
  verdicts_.reserve(cluster_.capacity());
  offers.resize(std::max(offers.size(), cluster_.capacity()));
  feasible_.forEach([&](NodeId node) {
    Cluster::Transaction whatIf(cluster_);
    std::int64_t& slots = offers[node].slots;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (const Status status = fits(i, node, i > 0); !status.ok()) return note(node, status);
      ++slots;
      if (i + 1 == members_.size() || !cluster_.assume(members_[i], node)) return;
      for (TentativePlugin* plugin : tentativePlugins_)
        if (const Status given = plugin->grant(members_[i], node); !given.ok()) {
          --slots;
          return note(node, given);
        }
    }
  });
  return first;
}

Diagnosis NetworkPlacement::Trial::reasons() {
  Diagnosis diagnosis;
  diagnosis.totalNodes = cluster_.liveCount();
  diagnosis.filterPlugins = handle_.search().filterNames();
  NodeSet others = cluster_.live();
  others.subtract(feasible_);
  Verdicts unfit;
  unfit.clear(cluster_.capacity());
  (void)handle_.search().filterNodes(states_[0], members_[0], others, unfit);
  cluster_.live().forEach([&](NodeId node) {
    const VerdictId id = feasible_.contains(node) ? kPasses : unfit.at(node);
    if (id != kPasses) verdicts_.set(node, verdicts_.intern(unfit.rejection(id)));
  });
  diagnosis.verdicts = &verdicts_;
  for (const Diagnosis::Entry& entry : diagnosis.entries())
    diagnosis.notePlugin(entry.plugin, entry.code);
  diagnosis.keepVerdicts();
  return diagnosis;
}

// The plans for all members, or else for the needed ones; demand.pods is the number of the latter.
NetworkPlacement::Answer NetworkPlacement::plansFor(const NetworkRequest& request,
                                                    const NetworkTree& tree,
                                                    std::span<const NetworkOffer> offers,
                                                    NetworkDemand& demand) {
  Answer answer;
  // If the gang does not need the rest, members may be placed one by one.
  std::vector<bool> some = request.needed;
  if (std::ranges::find(some, true) == some.end()) some[0] = true;
  for (const bool all : {true, false}) {
    demand.pods = all ? std::ssize(request.members) : std::ranges::count(some, true);
    const NetworkPlanner planner(tree, offers, demand);
    for (const auto& nodes : planner.plans(kPlans)) {
      std::vector<NodeId> plan(request.members.size(), kNoNode);
      for (std::size_t i = 0, next = 0; i < plan.size(); ++i)
        if (all || some[i]) plan[i] = nodes[next++];
      answer.plans.push_back(std::move(plan));
    }
    if (answer.plans.empty()) continue;
    const bool any = std::ranges::all_of(demand.multiples, [](auto each) { return each <= 1; });
    if (any) answer.scopes = planner.fittingScopes(kPlans);
    break;
  }
  return answer;
}

NetworkPlacement::Answer NetworkPlacement::refused(Status status, Diagnosis diagnosis) const {
  Answer answer;
  answer.status = std::move(status);
  answer.status.setPlugin(std::string(kPluginName));
  answer.diagnosis = std::move(diagnosis);
  answer.diagnosis.totalNodes = handle_.cluster().liveCount();
  answer.diagnosis.preFilter = answer.status;
  answer.diagnosis.notePlugin(kPluginName, answer.status.code);
  return answer;
}

NetworkPlacement::Answer NetworkPlacement::plan(const NetworkRequest& request) {
  reportInvalidIndex(handle_, request.members);
  const std::shared_ptr<const NetworkTree> tree = network_.tree();
  if (!tree) {
    const std::string problem = network_.problem();
    return refused(Status::unresolvable(
        problem.empty()
            ? "no cluster network topology"
            : "no cluster network topology: ClusterNetworkTopology default: " + problem));
  }
  auto demand = demandOf(request.rules, *tree);
  if (!demand) return refused(Status::unresolvable(demand.error().message));
  if (const auto place = request.with ? tree->placeOf(*request.with) : std::nullopt;
      place && demand->gatherLevel > 0)
    demand->within = tree->above(*place, demand->gatherLevel);

  std::vector<NetworkOffer> offers;
  Trial trial(handle_, request.members);
  if (SearchResult first = trial.run(offers); !first.status.ok()) {
    first.diagnosis.keepVerdicts();
    Answer answer;
    answer.status = std::move(first.status);
    answer.diagnosis = std::move(first.diagnosis);
    return answer;
  }
  network_.countExisting(std::string(networkSelectorOf(*request.members.front())), offers);
  if (request.score)
    handle_.cluster().live().forEach(
        [&](NodeId node) { offers[node].score = request.score(node); });
  Answer answer = plansFor(request, *tree, offers, *demand);
  if (!answer.plans.empty()) return answer;

  Diagnosis diagnosis = trial.reasons();
  if (demand->gatherLevel > 0) diagnosis.gatheredIn = tree->layers().list[demand->gatherLevel].name;
  handle_.cluster().live().forEach(
      [&](NodeId node) { diagnosis.offers.emplace_back(node, offers[node].slots); });
  Status status = Status::unschedulable(
      fmt::format("no candidate topology nodes can accommodate job, desiredOfferSlot: {}, {}, {}{}",
                  demand->pods, scopesText(NetworkPlanner(*tree, offers, *demand)),
                  diagnosis.message(), multiplesText(*demand, *tree)));
  return refused(std::move(status), std::move(diagnosis));
}

}  // namespace koord::scheduler
