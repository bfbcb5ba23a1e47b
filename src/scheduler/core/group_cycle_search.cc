// The search with backtracking of a group's cycle (group_search.h): its members as the search sees
// them, and what becomes of a placement that it finds.

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/log.h"
#include "scheduler/core/group_member.h"
#include "scheduler/core/group_search.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

namespace {

// A search costs at most this many searches for single pods.
constexpr std::size_t kBaseSteps = 200;
constexpr std::size_t kStepsPerMember = 4;
// Nodes of one member that Reserve or Permit plugins may reject in one step.
constexpr int kMaxRefusals = 8;

bool spreads(const PodInfo& pod) {
  return std::ranges::any_of(pod.pod->spec.topologySpreadConstraints, [](const auto& constraint) {
    return constraint.whenUnsatisfiable != "ScheduleAnyway";
  });
}

}  // namespace

class Scheduler::MembersToPlace final : public GroupSearch::World {
 public:
  MembersToPlace(Scheduler& scheduler, const std::string& group, std::vector<Member>& members,
                 const GroupDomain* domain)
      : scheduler_(scheduler),
        group_(group),
        members_(members),
        plugin_(*members.front().attempt->profile->profile().groups),
        domain_(domain),
        nodes_(scheduler.shared_.cluster.live()),
        placement_(scheduler.shared_),
        placed_(members.size()) {
    if (domain) nodes_.intersect(domain->nodes);
    const Status status = guarded(scheduler.observer_, kOfGroups, "Search", [&] {
      findDemands();
      return Status();
    });
    if (!status.ok()) demands_.clear();
  }

  // False if a search cannot find more than placing one member after the other: they are all alike,
  // or the group takes any outcome.
  bool mayHelp() const {
    if (demands_.size() != members_.size()) return false;  // a plugin failed
    std::vector<std::size_t> all(members_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (canDoWithout(all)) return false;
    return std::ranges::any_of(
        all, [&](std::size_t i) { return demands_[i] != demands_.front() || needsOthers(i); });
  }
  const NodeSet& nodes() const { return nodes_; }
  // Places a member that the search left out if it fits beside the others after all.
  void tryLeftOut(std::size_t number) {
    Member& member = members_[number];
    Attempt& attempt = *member.attempt;
    attempt.state = CycleState();
    const SearchScope scope{.among = domain_ ? &domain_->nodes : nullptr};
    member.result =
        attempt.profile->search().find(attempt.state, attempt.pod.info, scope, attempt.timer);
    member.outcome = Member::Outcome::Failed;
    if (!member.result.status.ok()) return member.result.diagnosis.keepVerdicts();
    member.result.status = placement_.assumeAndReserve(attempt, member.result.node);
    member.outcome = member.result.status.ok() ? Member::Outcome::Placed : Member::Outcome::Refused;
  }
  bool has(std::size_t number) const { return placed_[number]; }
  void commit() { placement_.commit(); }
  void releaseAll() { placement_.releaseAll(); }

  Found place(std::size_t number, const NodeSet& nodes) override {
    Attempt& attempt = *members_[number].attempt;
    NodeSet left = nodes;
    // A search of all nodes uses what is kept for the pod's class.
    const bool all = !domain_ && nodes.size() == scheduler_.shared_.cluster.liveCount();
    for (int refusals = 0; refusals < kMaxRefusals; ++refusals) {
      attempt.state = CycleState();
      SearchScope scope;
      if (!all || refusals > 0) scope.among = &left;
      scope.diagnose = false;
      SearchResult found =
          attempt.profile->search().find(attempt.state, attempt.pod.info, scope, attempt.timer);
      if (!found.status.ok()) break;
      const std::string nominated = scheduler_.shared_.nominator.nodeOf(attempt.pod.uid());
      if (placement_.assumeAndReserve(attempt, found.node).ok()) {
        placed_[number] = true;
        members_[number].result = std::move(found);
        return {members_[number].result.node, members_[number].result.feasible};
      }
      if (!nominated.empty()) scheduler_.shared_.nominator.add(attempt.pod.info, {true, nominated});
      left.erase(found.node);
    }
    return {};
  }
  void undo(std::size_t number) override {
    placement_.release(*members_[number].attempt);
    placed_[number] = false;
  }
  std::uint64_t demandOf(std::size_t number) const override { return demands_[number]; }
  bool needsOthers(std::size_t number) const override {
    const PodInfo& pod = podOf(number);
    return spreads(pod) || (pod.terms && !pod.terms->affinity.empty());
  }
  bool canDoWithout(std::span<const std::size_t> numbers) const override {
    std::vector<PodPtr> others;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (std::ranges::find(numbers, i) == numbers.end())
        others.push_back(members_[i].attempt->pod.info);
    bool can = false;
    guarded(scheduler_.observer_, kOfGroups, "Suffices",
            [&] { can = plugin_.suffices(group_, others); });
    return can;
  }

 private:
  const PodInfo& podOf(std::size_t number) const { return *members_[number].attempt->pod.info; }

  // Members are interchangeable if plugins judge them alike, they belong to the same group and,
  // where members select each other by labels, they have the same labels.
  void findDemands() {
    bool select = false;
    for (std::size_t i = 0; i < members_.size(); ++i)
      select |= podOf(i).terms != nullptr || spreads(podOf(i));
    using Demand = std::tuple<const PodClass*, ShapeId, std::int32_t, std::string, std::string,
                              const LabelSet*>;
    std::map<Demand, std::uint64_t> known;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Attempt& attempt = *members_[i].attempt;
      const PodInfo& pod = podOf(i);
      NodeSearch& search = attempt.profile->search();
      CycleState state;
      (void)search.prepare(state, attempt.pod.info);
      classes_.push_back(search.decidingClass(state));
      const PodClass* const podClass = classes_.back().get();
      // A shape covers neither volumes nor spread constraints.
      const bool plain = pod.pod->spec.volumes.empty() && !select;
      const ShapeId shape = podClass || !plain ? 0 : pod.shape;
      const auto admits = search.admitKey(pod);
      Demand demand{podClass,
                    shape,
                    pod.priority,
                    plugin_.groupOf(pod),
                    admits.value_or(""),
                    select ? pod.labelSet.get() : nullptr};
      const bool comparable = (podClass || shape != 0) && admits;
      demands_.push_back(comparable ? known.try_emplace(std::move(demand), i).first->second : i);
    }
  }

  Scheduler& scheduler_;
  const std::string& group_;
  std::vector<Member>& members_;
  GroupPlugin& plugin_;
  const GroupDomain* domain_;
  NodeSet nodes_;
  Placement placement_;
  std::vector<bool> placed_;                              // by member
  std::vector<std::shared_ptr<const PodClass>> classes_;  // keeps them alive
  std::vector<std::uint64_t> demands_;                    // by member
};

namespace {

// What a refused placement leaves of a member; needed again if the search finds nothing.
template <class Member>
struct Refused {
  explicit Refused(Member& member)
      : outcome(member.outcome),
        result(std::move(member.result)),
        state(std::move(member.attempt->state)),
        node(member.attempt->node),
        nodeName(member.attempt->nodeName),
        nominated(member.attempt->nominated),
        permitted(member.attempt->permitted) {}
  void restore(Member& member) {
    member.outcome = outcome;
    member.result = std::move(result);
    member.attempt->state = std::move(state);
    member.attempt->node = node;
    member.attempt->nodeName = std::move(nodeName);
    member.attempt->nominated = std::move(nominated);
    member.attempt->permitted = permitted;
  }

  decltype(Member::outcome) outcome;
  SearchResult result;
  CycleState state;
  NodeId node;
  std::string nodeName;
  std::string nominated;
  bool permitted;
};

}  // namespace

bool Scheduler::isWorthSearching(const std::vector<Member>& members) const {
  const auto placed = std::ranges::count(members, Member::Outcome::Placed, &Member::outcome);
  return placed > 0 && std::ranges::none_of(members, [this](const Member& member) {
           const bool error = member.outcome == Member::Outcome::Failed &&
                              !member.result.status.ok() && !member.result.status.rejected();
           return error || !stillNeedsNode(*member.attempt) ||
                  (shared_.extenders &&
                   shared_.extenders->concerns(*member.attempt->pod.info->pod));
         });
}

// Members that are left out get the reason why no node takes them beside the others.
Status Scheduler::judgeFound(const std::string& group, std::vector<Member>& members,
                             MembersToPlace& world) {
  std::vector<PodPtr> placed;
  std::vector<GroupOutcome::Failed> failed;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    if (world.has(i)) {
      member.outcome = Member::Outcome::Placed;
      placed.push_back(member.attempt->pod.info);
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (world.has(i)) continue;
    Member& member = members[i];
    world.tryLeftOut(i);
    if (member.outcome == Member::Outcome::Placed) {
      placed.push_back(member.attempt->pod.info);
    } else {
      failed.push_back({member.attempt->pod.info, reasonOf(member.result)});
    }
  }
  for (Member& member : members) recordSearch(*member.attempt, member.result);
  return guarded(observer_, kOfGroups, "Judge", [&] {
    return members.front().attempt->profile->profile().groups->judge(group, {placed, failed, {}});
  });
}

std::optional<Status> Scheduler::searchDomain(const std::string& group,
                                              std::vector<Member>& members,
                                              const GroupDomain* domain) {
  if (!isWorthSearching(members)) return std::nullopt;
  MembersToPlace world(*this, group, members, domain);
  if (!world.mayHelp()) return std::nullopt;
  std::vector<Refused<Member>> before;
  before.reserve(members.size());
  for (Member& member : members) before.emplace_back(member);
  GroupSearch search(world, world.nodes(), members.size(),
                     kBaseSteps + kStepsPerMember * members.size());
  const SteadyTime since = executor_.steadyNow();
  std::optional<Status> verdict;
  if (search.run()) verdict = judgeFound(group, members, world);
  log::v(3, "group {}: a search of {} steps {}", group, search.steps(),
         verdict && keepsNominations(*verdict) ? "finds a placement"
         : search.exhausted()                  ? "ends without a result"
                                               : "shows that there is no placement");
  members.front().took += executor_.steadyNow() - since;
  if (verdict && keepsNominations(*verdict)) {
    world.commit();
    return verdict;
  }
  world.releaseAll();
  for (std::size_t i = 0; i < members.size(); ++i) before[i].restore(members[i]);
  return std::nullopt;
}

}  // namespace koord::scheduler
