#include "scheduler/plugins/coscheduling/job_preemption.h"

#include "scheduler/framework/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/task.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/profile.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kDisablePreemptible = "scheduling.koordinator.sh/disable-preemptible";
constexpr std::string_view kQuotaPreemptible = "quota.scheduling.koordinator.sh/preemptible";
constexpr std::string_view kJob = "scheduling.koordinator.sh/questioned-object-key";

// Of a gang for which nobody has to leave, until its promises are used. The first leaves time to
// write them down.
constexpr Duration kShortestPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(10);

// Promises without victims that may be in vain, and for how long there are none afterwards.
constexpr int kPromisesInVain = 2;
constexpr Duration kShortestRest = std::chrono::seconds(30);
constexpr Duration kLongestRest = std::chrono::minutes(10);
constexpr std::size_t kGroupsKept = 1000;

bool labelIs(const PodInfo& pod, std::string_view key, std::string_view value) {
  const std::string* text = api::findIn(pod.pod->metadata.labels, key);
  return text && *text == value;
}

// Victims are worth the ranks of their jobs: jobs of higher priority cost more, and one that loses
// several pods on a node costs no more than one that loses one.
class JobRules final : public PreemptionRules {
 public:
  explicit JobRules(const Cluster& cluster, std::int32_t below) {
    std::set<std::int32_t> priorities;
    for (const Cluster::PodRecord& record : cluster.pods())
      if (record.info->priority < below && spareable(*record.info))
        priorities.insert(record.info->priority);
    // From 1, so that the lowest are not as good as nobody.
    for (const std::int32_t priority : priorities) rank_[priority] = std::ssize(rank_) + 1;
  }
  bool empty() const { return rank_.empty(); }

  bool mayLeave(const PodInfo& victim, const PodInfo& preemptor) const override {
    return victim.priority < preemptor.priority && spareable(victim);
  }
  std::int64_t cost(NodeId, std::span<const PodPtr> victims) const override {
    std::set<std::string> jobs;
    std::int64_t sum = 0;
    for (const PodPtr& victim : victims) {
      const std::string* job = api::findIn(victim->pod->metadata.labels, kJob);
      if (!jobs.insert(job ? *job : std::string()).second) continue;
      const auto rank = rank_.find(victim->priority);
      if (rank != rank_.end()) sum += rank->second;
    }
    return sum;
  }

 private:
  static bool spareable(const PodInfo& victim) {
    return canLeave(victim) && !labelIs(victim, kDisablePreemptible, "true") &&
           !labelIs(victim, kQuotaPreemptible, "false");
  }
  std::map<std::int32_t, std::int64_t> rank_;
};

// What came of it, as a metric's label: the sort of reason, without the names and numbers in it.
std::string_view resultOf(const Status& status) {
  static constexpr std::string_view kResults[] = {
      "not eligible due to preemptionPolicy=Never.",
      "not eligible due to terminating pod on the nominated node.",
      "no potential victims",
      "preemption not helpful",
      "nobody has to leave",
      "preempt success"};
  const std::string text = status.message();
  for (const std::string_view result : kResults)
    if (text.find(result) != std::string::npos) return result;
  return "no pending pods";
}

// A member that may not preempt (preemptionPolicy Never) to whom the plan gives a node that others have to leave; null:
// there is none. The gang cannot start then, so that whoever leaves for its other members leaves in vain.
const PodInfo* keptFromItsPlace(const JobPlan& plan) {
  for (const JobPlan::Place& place : plan.places)
    if (PreemptionRules::neverPreempts(*place.member) && plan.victims.contains(place.node))
      return place.member.get();
  return nullptr;
}

std::string keptReason(const PodInfo& member) {
  return fmt::format("pod {} may not preempt (preemptionPolicy=Never) and needs room",
                     member.key());
}

Status unschedulable(std::string reason) {
  return Status::unschedulable("preemption: " + std::move(reason));
}

}  // namespace

std::vector<PodPtr> JobPreemption::membersOf(const PodPtr& pod) const {
  const Gangs& gangs = cycles_.gangs();
  const Gang* gang = gangs.gangOf(*pod);
  if (!gang || gangs.free(*gang)) return {};
  std::vector<PodPtr> members;
  for (const Gang* partner : gangs.partnersOf(*gang))
    for (PodPtr& member : cycles_.gangs().pendingOf(*partner))
      if (member->pod->spec.schedulingGates.empty() && !member->pod->metadata.deletionTimestamp)
        members.push_back(std::move(member));
  if (gangs.networkOf(*gang))
    std::ranges::sort(members, [](const auto& a, const auto& b) { return networkOrder(*a, *b); });
  return members;
}

JobPlacer JobPreemption::placerFor(const PodInfo& pod) {
  const Gang* gang = cycles_.gangs().gangOf(pod);
  const auto* rules = gang && placement_ ? cycles_.gangs().networkOf(*gang) : nullptr;
  if (!rules) return {};
  return [this, gang, rules](std::span<const PodPtr> members,
                             const JobCost& cost) -> Result<std::vector<NodeId>> {
    NetworkWish wish{*rules, members, std::vector<bool>(members.size(), true),
                     cycles_.nodeOfMember(*gang), [&](NodeId node) { return -cost(node); }};
    NetworkPlacement::Answer answer = placement_->plan(wish);
    if (answer.plans.empty()) return fail(ErrorCode::NotFound, answer.status.message());
    return std::move(answer.plans.front());
  };
}

std::string JobPreemption::notEligible(const PodInfo& pod, std::span<const PodPtr> members) const {
  if (PreemptionRules::neverPreempts(pod)) return PreemptionRules::kNever;
  for (const PodPtr& member : members) {
    if (std::string why = member->kind ? member->kind->mayNotPreempt(*member) : ""; !why.empty())
      return why;
    if (evictionsOf(handle_).holdsBack(member->uid()))
      return "not eligible due to terminating pod on the nominated node.";
    const auto node = handle_.cluster().findNode(handle_.nominator().nodeOf(member->uid()));
    if (!node) continue;
    for (const PodPtr& other : handle_.cluster().node(*node).pods)
      if (other->pod->metadata.deletionTimestamp && other->priority < member->priority)
        return "not eligible due to terminating pod on the nominated node.";
  }
  return {};
}

PostFilterResult JobPreemption::preempt(const PodPtr& pod, const Diagnosis& diagnosis) {
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  const std::string job = gang ? Gangs::groupIdOf(*gang) : pod->key();
  const SteadyTime since = handle_.executor().steadyNow();
  PostFilterResult result = preemptForAll(pod, diagnosis);
  if (Observer* observer = handle_.observer())
    observer->jobPreempted(job, resultOf(result.status), handle_.executor().steadyNow() - since);
  // Nobody else can tell whether a gang that is placed by network topology is helped.
  if (result.status.code == Code::Unschedulable && placerFor(*pod))
    result.status.code = Code::UnschedulableAndUnresolvable;
  return result;
}

PostFilterResult JobPreemption::preemptForAll(const PodPtr& pod, const Diagnosis& /*diagnosis*/) {
  PostFilterResult result;
  result.victims = 0;
  const std::vector<PodPtr> members = membersOf(pod);
  if (members.empty()) {
    result.status.code = Code::Unschedulable;
    return result;
  }
  if (std::string why = notEligible(*pod, members); !why.empty()) {
    result.status = unschedulable(std::move(why));
    return result;
  }
  const JobRules rules(handle_.cluster(), pod->priority);
  if (rules.empty()) {
    result.status = unschedulable("no potential victims");
    return result;
  }
  const JobPlan plan = planJob(handle_, rules, members, handle_.cluster().live(), placerFor(*pod));
  if (!plan.status.ok()) {
    result.status = unschedulable("preemption not helpful: " + plan.status.message());
    result.nomination = {true, ""};
    return result;
  }
  if (const PodInfo* member = keptFromItsPlace(plan)) {
    // Others must not send anybody away for it either.
    result.status =
        Status::unresolvable("preemption: not helpful for the gang: " + keptReason(*member));
    result.nomination = {true, ""};
    return result;
  }
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  if (plan.victims.empty() && !mayPromise(Gangs::groupIdOf(*gang))) {
    result.status = unschedulable("nobody has to leave, but nodes were promised in vain");
    result.nomination = {true, ""};
    return result;
  }
  carryOut(plan);
  result.nomination = cycles_.nominationOf(*pod);
  if (plan.victims.empty()) {
    comeBackSoon(pod);
    // Others must not send anybody away for it either.
    result.status = Status::unresolvable(fmt::format(
        "preemption: nobody has to leave, nodes are promised to {} members", plan.places.size()));
    return result;
  }
  std::size_t victims = 0;
  for (const auto& [node, pods] : plan.victims) victims += pods.size();
  result.victims = victims;
  result.status.setReasons(
      {fmt::format("preemption: preempt success, alreadyWaitingForBound: {}/{}", plan.places.size(),
                   members.size())});
  return result;
}

void JobPreemption::carryOut(const JobPlan& plan) {
  std::map<NodeId, PodPtr> preemptors;  // by node: whoever comes there
  for (const JobPlan::Place& place : plan.places) {
    const std::string& node = handle_.cluster().node(place.node).name;
    cycles_.promises()[place.member->uid()] = node;
    preemptors.emplace(place.node, place.member);
  }
  // Who holds what a quota lacks may leave a node that no member goes to: for the first of them.
  std::map<std::string, std::pair<JobPlan::Place, std::vector<PodPtr>>> leaving;
  for (const auto& [node, victims] : plan.victims) {
    const auto preemptor = preemptors.find(node);
    const JobPlan::Place place = preemptor == preemptors.end()
                                     ? plan.places.front()
                                     : JobPlan::Place{preemptor->second, node};
    auto& [by, all] = leaving[place.member->uid()];
    by = place;
    all.insert(all.end(), victims.begin(), victims.end());
  }
  for (auto& [uid, entry] : leaving)
    evictionsOf(handle_).start(entry.first.member, handle_.cluster().node(entry.first.node).name,
                               std::move(entry.second),
                               {"JobPreemptionSuccessPlugin", handle_.events()});
}

bool JobPreemption::mayPromise(const std::string& group) {
  const SteadyTime now = handle_.executor().steadyNow();
  const GangRefusal* refusal = cycles_.refusalOf(group);
  const WallTime since = refusal ? refusal->since : handle_.executor().wallNow();
  if (promised_.size() > kGroupsKept)
    std::erase_if(promised_, [&](const auto& entry) { return entry.second.until <= now; });
  Promised& promised = promised_[group];
  if (promised.since != since) promised = {since};  // it was placed in between
  if (now < promised.until) return false;
  if (promised.inVain++ < kPromisesInVain) return true;
  promised.inVain = 0;
  promised.rest = std::clamp<Duration>(promised.rest * 2, kShortestRest, kLongestRest);
  promised.until = now + promised.rest;
  return false;
}

void JobPreemption::comeBackSoon(const PodPtr& pod) {
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  if (!gang) return;
  std::string group = Gangs::groupIdOf(*gang);
  if (!comingBack_.insert(group).second) return;
  const GangRefusal* refusal = cycles_.refusalOf(group);
  const WallTime now = handle_.executor().wallNow();
  // As long again as it has waited: doubles with every try in vain.
  const Duration waited = refusal ? now - refusal->since : Duration::zero();
  tasks_.spawn(comeBack(pod, std::move(group), std::clamp(waited, kShortestPause, kLongestPause)));
}

Task<void> JobPreemption::comeBack(PodPtr pod, std::string group, Duration pause) {
  auto pausing = sleepFor(handle_.executor(), pause);
  co_await pausing;
  comingBack_.erase(group);
  handle_.activate({pod});
}

PostFilterResult JobPreemption::checkHelps(const PodPtr& pod, const Diagnosis& /*diagnosis*/) {
  PostFilterResult result;
  result.status.code = Code::Unschedulable;
  const Gangs& gangs = cycles_.gangs();
  const Gang* gang = gangs.gangOf(*pod);
  if (!gang || gangs.free(*gang) || PreemptionRules::neverPreempts(*pod)) return result;
  if (placement_ && gangs.networkOf(*gang)) {
    result.status = Status::unresolvable(
        "preemption: a gang that is placed by network topology needs enablePreemption");
    return result;
  }
  const std::vector<PodPtr> members = membersOf(pod);
  std::int64_t needed = 0;
  for (const auto& [member, count] : cycles_.lacking(*gang)) needed += count;
  // With members to spare a plan for all of them would ask for too much.
  if (needed != std::ssize(members)) return result;
  // Whoever may leave for a single pod: labels that keep a pod from a job's preemption do not count there.
  const PreemptionRules rules;
  const bool any = std::ranges::any_of(handle_.cluster().pods(), [&](const auto& record) {
    return rules.mayLeave(*record.info, *pod);
  });
  if (!any) return result;
  const JobPlan plan = planJob(handle_, rules, members, handle_.cluster().live());
  const PodInfo* kept = plan.status.ok() ? keptFromItsPlace(plan) : nullptr;
  if (!plan.status.ok() || kept) {
    result.status = Status::unresolvable("preemption: not helpful for the gang: " +
                                         (kept ? keptReason(*kept) : plan.status.message()));
    result.nomination = {true, ""};
  }
  return result;
}

}  // namespace koord::scheduler
