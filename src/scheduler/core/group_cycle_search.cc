// The search with backtracking of a group's cycle (group_search.h): its members as the search sees
// them, and what becomes of a placement that it finds.

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "api/codec.h"
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
// The first attempts of a group search, and of the later ones each with a multiple of this number.
constexpr int kAttemptsWithSearch = 8;

bool spreads(const PodInfo& pod) {
  return std::ranges::any_of(pod.pod->spec.topologySpreadConstraints, [](const auto& constraint) {
    return constraint.whenUnsatisfiable != "ScheduleAnyway";
  });
}

}  // namespace

// On destruction the members are as they were before, unless commit() was called.
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
        placement_(scheduler.shared_) {
    if (domain) nodes_.intersect(domain->nodes);
    before_.reserve(members.size());
    for (Member& member : members) before_.push_back(take(member));
  }
  ~MembersToPlace() override {
    placement_.releaseAll();
    for (std::size_t i = 0; i < before_.size(); ++i) restore(members_[i], std::move(before_[i]));
  }
  MembersToPlace(const MembersToPlace&) = delete;
  MembersToPlace& operator=(const MembersToPlace&) = delete;

  // False if a search cannot find more than placing one member after the other: they are all alike,
  // or the group takes any outcome.
  bool mayHelp() {
    std::vector<std::size_t> all(members_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (canDoWithout(all)) return false;
    const Status status = guarded(scheduler_.observer_, kOfGroups, "Search", [&] {
      findDemands();
      findSizes();
      return Status();
    });
    return status.ok() && std::ranges::any_of(all, [&](std::size_t i) {
             return demands_[i] != demands_.front() || needsOthers(i);
           });
  }
  const NodeSet& nodes() const { return nodes_; }
  Placement& placement() { return placement_; }
  void commit() {
    placement_.commit();
    before_.clear();
  }

  Found place(std::size_t number, const NodeSet& nodes) override {
    Member& member = members_[number];
    Attempt& attempt = *member.attempt;
    NodeSet left = nodes;
    // A search of all nodes uses what is kept for the pod's class.
    const bool all = !domain_ && nodes.size() == scheduler_.shared_.cluster.liveCount();
    for (int refusals = 0; refusals < kMaxRefusals; ++refusals) {
      attempt.state = CycleState();
      SearchScope scope;
      if (!all || refusals > 0) scope.among = &left;
      scope.diagnose = false;
      member.result =
          attempt.profile->search().find(attempt.state, attempt.pod.info, scope, attempt.timer);
      if (!member.result.status.ok()) break;
      if (placement_.assumeAndReserve(attempt, member.result.node).ok()) {
        member.outcome = Member::Outcome::Placed;
        return {member.result.node, member.result.feasible};
      }
      left.erase(member.result.node);
    }
    return {};
  }
  void undo(std::size_t number) override {
    placement_.release(*members_[number].attempt);
    members_[number].outcome = Member::Outcome::Untried;
  }
  std::uint64_t demandOf(std::size_t number) const override { return demands_[number]; }
  double sizeOf(std::size_t number) const override { return sizes_[number]; }
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
  // What the last try left of a member.
  struct Before {
    Member::Outcome outcome;
    SearchResult result;
    CycleState state;
    NodeId node;
    std::string nodeName, nominated;
    bool permitted;
  };
  static Before take(Member& member) {
    Attempt& attempt = *member.attempt;
    return {std::exchange(member.outcome, Member::Outcome::Untried),
            std::move(member.result),
            std::move(attempt.state),
            attempt.node,
            attempt.nodeName,
            attempt.nominated,
            attempt.permitted};
  }
  static void restore(Member& member, Before before) {
    Attempt& attempt = *member.attempt;
    member.outcome = before.outcome;
    member.result = std::move(before.result);
    attempt.state = std::move(before.state);
    attempt.node = before.node;
    attempt.nodeName = std::move(before.nodeName);
    attempt.nominated = std::move(before.nominated);
    attempt.permitted = before.permitted;
  }

  const PodInfo& podOf(std::size_t number) const { return *members_[number].attempt->pod.info; }

  // The sum of what a member requests of each resource, as a share of the largest request for it.
  void findSizes() {
    std::map<ResourceId, std::int64_t> largest;
    for (std::size_t i = 0; i < members_.size(); ++i)
      podOf(i).request.forEach(
          [&](ResourceId id, std::int64_t amount) { largest[id] = std::max(largest[id], amount); });
    for (std::size_t i = 0; i < members_.size(); ++i) {
      double& size = sizes_.emplace_back(0);
      podOf(i).request.forEach([&](ResourceId id, std::int64_t amount) {
        if (amount > 0) size += static_cast<double>(amount) / static_cast<double>(largest[id]);
      });
    }
  }

  // Members are interchangeable if they belong to the same group, have the same priority and quota,
  // and plugins judge them alike: they are of one class, or their specs and labels are equal. Where
  // members select each other by labels, members of one class have the same labels, too.
  void findDemands() {
    bool select = false;
    for (std::size_t i = 0; i < members_.size(); ++i)
      select |= podOf(i).terms != nullptr || spreads(podOf(i));
    using Demand = std::tuple<const PodClass*, std::string, const LabelSet*, std::int32_t,
                              std::string, std::string>;
    std::map<Demand, std::uint64_t> known;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Attempt& attempt = *members_[i].attempt;
      const PodInfo& pod = podOf(i);
      NodeSearch& search = attempt.profile->search();
      CycleState state;
      (void)search.prepare(state, attempt.pod.info);
      classes_.push_back(search.decidingClass(state));
      const PodClass* const podClass = classes_.back().get();
      const std::string spec = podClass ? "" : toJson(api::encode(pod.pod->spec));
      const LabelSet* const labels = select || !podClass ? pod.labelSet.get() : nullptr;
      const auto admits = search.admitKey(pod);
      Demand demand{podClass,           spec, labels, pod.priority, plugin_.groupOf(pod),
                    admits.value_or("")};
      demands_.push_back(admits ? known.try_emplace(std::move(demand), i).first->second : i);
    }
  }

  Scheduler& scheduler_;
  const std::string& group_;
  std::vector<Member>& members_;
  GroupPlugin& plugin_;
  const GroupDomain* domain_;
  NodeSet nodes_;
  Placement placement_;
  std::vector<Before> before_;                            // by member; empty after commit()
  std::vector<std::shared_ptr<const PodClass>> classes_;  // keeps them alive
  std::vector<std::uint64_t> demands_;                    // by member
  std::vector<double> sizes_;                             // by member
};

// A group that waits for long is not searched at each attempt.
bool Scheduler::isWorthSearching(const std::vector<Member>& members) const {
  const int attempts = members.front().attempt->pod.attempts;
  if (attempts > kAttemptsWithSearch && attempts % kAttemptsWithSearch != 0) return false;
  const auto placed = std::ranges::count(members, Member::Outcome::Placed, &Member::outcome);
  return placed > 0 && std::ranges::none_of(members, [this](const Member& member) {
           const bool error = member.outcome == Member::Outcome::Failed &&
                              !member.result.status.ok() && !member.result.status.rejected();
           return error || !stillNeedsNode(*member.attempt) ||
                  (shared_.extenders &&
                   shared_.extenders->concerns(*member.attempt->pod.info->pod));
         });
}

// Members that are left out are tried once more: for the reason why no node takes them beside the
// others, and because others may have made room for them.
Task<Status> Scheduler::judgeFound(const std::string& group, std::vector<Member>& members,
                                   const GroupDomain* domain, Placement& placement) {
  const SearchScope scope{.among = domain ? &domain->nodes : nullptr};
  for (Member& member : members) {
    if (member.outcome == Member::Outcome::Placed) {
      recordSearch(*member.attempt, member.result);
      continue;
    }
    auto trying = tryMember(member, scope, placement);
    co_await trying;
  }
  std::vector<PodPtr> placed;
  std::vector<GroupOutcome::Failed> failed;
  for (const Member& member : members) {
    const PodPtr& pod = member.attempt->pod.info;
    if (member.outcome == Member::Outcome::Placed) {
      placed.push_back(pod);
    } else {
      failed.push_back({pod, reasonOf(member.result)});
    }
  }
  GroupPlugin& plugin = *members.front().attempt->profile->profile().groups;
  co_return guarded(observer_, kOfGroups, "Judge",
                    [&] { return plugin.judge(group, {placed, failed, {}}); });
}

Task<std::optional<Status>> Scheduler::searchDomain(const std::string& group,
                                                    std::vector<Member>& members,
                                                    const GroupDomain* domain) {
  if (!isWorthSearching(members)) co_return std::nullopt;
  const SteadyTime since = executor_.steadyNow();
  MembersToPlace world(*this, group, members, domain);
  if (!world.mayHelp()) co_return std::nullopt;
  GroupSearch search(world, world.nodes(), members.size(),
                     kBaseSteps + kStepsPerMember * members.size());
  const bool found = search.run();
  log::v(3, "group {}: a search of {} steps {}", group, search.steps(),
         found                ? "finds a placement"
         : search.exhausted() ? "ends without a result"
                              : "shows that there is no placement");
  members.front().took += executor_.steadyNow() - since;
  if (!found) co_return std::nullopt;
  auto judging = judgeFound(group, members, domain, world.placement());
  const Status verdict = co_await judging;
  if (!keepsNominations(verdict)) co_return std::nullopt;
  world.commit();
  co_return verdict;
}

}  // namespace koord::scheduler
