#include "scheduler/plugins/coscheduling/job_preemption.h"

#include "scheduler/framework/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/task.h"
#include "model/well_known.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kJob = "scheduling.koordinator.sh/questioned-object-key";

// The pause before a gang without victims uses its nominations. The shortest leaves time to write
// them to the API.
constexpr Duration kShortestPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(10);

// How often a gang may get nominations without victims that it cannot use, and for how long it gets
// none afterwards.
constexpr int kMaxUnusedNominations = 2;
constexpr Duration kShortestRest = std::chrono::seconds(30);
constexpr Duration kLongestRest = std::chrono::minutes(10);
constexpr std::size_t kGroupsKept = 1000;

// The cost of victims is the sum of the ranks of their jobs: a job of higher priority costs more.
// Several victims of one job on a node cost the same as one.
class JobRules final : public PreemptionRules {
 public:
  explicit JobRules(const Cluster& cluster, std::int32_t below) {
    std::set<std::int32_t> priorities;
    for (const Cluster::PodRecord& record : cluster.pods())
      if (record.info->priority < below && spareMembers(*record.info))
        priorities.insert(record.info->priority);
    // From 1, so that victims of the lowest priority cost more than no victims.
    for (const std::int32_t priority : priorities) rank_[priority] = std::ssize(rank_) + 1;
  }
  bool empty() const { return rank_.empty(); }

  bool mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const override {
    return victim.priority < preemptor.priority && spareMembers(victim);
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
  static bool spareMembers(const PodInfo& victim) {
    const api::StringMap& labels = victim.pod->metadata.labels;
    return isEvictable(victim) && api::textIn(labels, model::kLabelDisablePreemptible) != "true" &&
           api::textIn(labels, model::kLabelPreemptible) != "false";
  }
  std::map<std::int32_t, std::int64_t> rank_;
};

// Upstream's text for gangs; it differs from that for single pods by an article.
constexpr const char* kVictimsTerminate =
    "not eligible due to terminating pod on the nominated node.";

// The result as a metric's label: the kind of reason, without its names and numbers.
std::string_view resultOf(const Status& status) {
  static constexpr std::string_view kResults[] = {"not eligible due to preemptionPolicy=Never.",
                                                  kVictimsTerminate,
                                                  "not eligible for a while",
                                                  "the cluster has changed in the meantime",
                                                  "no potential victims",
                                                  "preemption not helpful",
                                                  "no victims are needed",
                                                  "preempt success"};
  const std::string text = status.message();
  for (const std::string_view result : kResults)
    if (text.find(result) != std::string::npos) return result;
  return "no pending pods";
}

// Plans per call. Each visits all members and all possible victims, within one cycle.
constexpr int kMaxPlans = 5;

// The members that may not preempt (preemptionPolicy Never) and that the plan puts on nodes with
// victims. The gang cannot start that way, so the evictions for its other members would not help.
std::vector<PodPtr> displacedMembers(const JobPlan& plan) {
  std::vector<PodPtr> kept;
  for (const JobPlan::Place& place : plan.places)
    if (PreemptionRules::neverPreempts(*place.member) && plan.victims.contains(place.node))
      kept.push_back(place.member);
  return kept;
}

// Moves this pod and the pods of its shape to the front. Returns false if they are there already.
bool putFirst(std::vector<PodPtr>& pods, const PodInfo& pod) {
  const auto alike = [&](const PodPtr& other) {
    return other.get() == &pod || (pod.shape != 0 && other->shape == pod.shape);
  };
  if (std::ranges::is_partitioned(pods, alike)) return false;
  std::ranges::stable_partition(pods, alike);
  return true;
}

std::string keptReason(const PodInfo& member) {
  return fmt::format("pod {} may not preempt (preemptionPolicy=Never) and needs resources",
                     member.key());
}

Status noPlacement(const JobPlan& plan) {
  return Status::unresolvable("preemption: not helpful for the gang: " + plan.status.message());
}

Status unschedulable(std::string reason) {
  return Status::unschedulable("preemption: " + std::move(reason));
}

}  // namespace

bool JobPreemption::Members::enough() const {
  return std::ranges::all_of(spare, [](const auto& gang) { return gang.second >= 0; });
}

JobSpare JobPreemption::Members::spareMembers() const {
  return [left = spare](const PodInfo& member) mutable {
    auto& more = left[gangIdOf(*member.pod)];
    return more > 0 && more-- > 0;
  };
}

JobPreemption::Members JobPreemption::membersOf(const PodInfo& pod) const {
  const Gangs& gangs = cycles_.gangs();
  const Gang* gang = gangs.gangOf(pod);
  Members members;
  if (!gang || gangs.free(*gang)) return members;
  for (const auto& [partner, missingMembers] : cycles_.gangShortages(*gang))
    members.spare[partner->id] = -missingMembers;
  for (const Gang* partner : gangs.partnersOf(*gang)) {
    for (PodPtr& member : gangs.pendingOf(*partner)) {
      if (!member->pod->spec.schedulingGates.empty() || member->pod->metadata.deletionTimestamp)
        continue;
      ++members.spare[partner->id];
      members.pods.push_back(std::move(member));
    }
  }
  if (gangs.networkOf(*gang))
    std::ranges::sort(members.pods,
                      [](const auto& a, const auto& b) { return networkOrder(*a, *b); });
  return members;
}

bool JobPreemption::byNetwork(const PodInfo& pod) const {
  const Gang* gang = cycles_.gangs().gangOf(pod);
  return gang && placement_ && cycles_.gangs().networkOf(*gang);
}

JobPlacer JobPreemption::placerFor(const PodInfo& pod, const Members& members) {
  if (!byNetwork(pod)) return {};
  const Gang* gang = cycles_.gangs().gangOf(pod);
  return [this, gang, spare = members.spare](std::span<const PodPtr> pods,
                                             const JobCost& cost) -> Result<std::vector<NodeId>> {
    // A gang can do without its last members.
    auto left = spare;
    std::vector<bool> needed(pods.size(), true);
    for (std::size_t i = pods.size(); i-- > 0;)
      if (auto& more = left[gangIdOf(*pods[i]->pod)]; more > 0) {
        --more;
        needed[i] = false;
      }
    NetworkRequest request{*cycles_.gangs().networkOf(*gang), pods, std::move(needed),
                           cycles_.nodeOfMember(*gang), [&](NodeId node) { return -cost(node); }};
    NetworkPlacement::Answer answer = placement_->plan(request);
    if (answer.plans.empty()) return fail(ErrorCode::NotFound, answer.status.message());
    return std::move(answer.plans.front());
  };
}

JobPlan JobPreemption::planFor(const PodInfo& pod, const PreemptionRules& rules, Members members) {
  JobPlan plan;
  for (int plans = 0; plans < kMaxPlans && members.enough(); ++plans) {
    plan = planJob(handle_, rules, members.pods, handle_.cluster().live(), placerFor(pod, members),
                   members.spareMembers());
    if (plan.stopped && !byNetwork(pod) && putFirst(members.pods, *plan.stopped)) continue;
    const auto kept = plan.status.ok() ? displacedMembers(plan) : std::vector<PodPtr>();
    if (kept.empty()) return plan;
    // Leaves out as many as a gang can do without, or one more, which ends the loop.
    for (const PodPtr& member : kept) {
      std::erase(members.pods, member);
      if (--members.spare[gangIdOf(*member->pod)] <= 0) break;
    }
    plan = {Status::unschedulable(keptReason(*kept.front())), {}, {}, {}};
  }
  if (plan.status.ok())
    plan.status = Status::unschedulable("it needs more members than it has pending pods");
  return plan;
}

std::string JobPreemption::notEligible(const PodInfo& pod, std::span<const PodPtr> members) const {
  if (PreemptionRules::neverPreempts(pod)) return PreemptionRules::kNever;
  for (const PodPtr& member : members) {
    if (std::string why = member->kind ? member->kind->preemptionBlockedReason(*member) : "";
        !why.empty())
      return why;
    if (evictionsOf(handle_).mustWait(member->uid())) return kVictimsTerminate;
    if (evictionsOf(handle_).isPaused(member->uid())) return Evictions::kRefused;
    const auto node = handle_.cluster().findNode(handle_.nominator().nodeOf(member->uid()));
    if (!node) continue;
    for (const PodPtr& other : handle_.cluster().node(*node).pods)
      if (other->pod->metadata.deletionTimestamp && other->priority < member->priority)
        return kVictimsTerminate;
  }
  return {};
}

Status JobPreemption::victimsRequested(const PodInfo& pod) const {
  const Gang* gang = cycles_.gangs().gangOf(pod);
  if (!gang || cycles_.gangs().free(*gang)) return {};
  const PodPtr held = evictionsOf(handle_).findWaiting(
      [&](const PodInfo& preemptor) { return handle_.profile().sameGroup(preemptor, pod); });
  if (!held) return {};
  return Status::unresolvable(
      fmt::format("waiting for the preemption for pod {} of its gang to be finished", held->key()));
}

bool JobPreemption::freesNominatedNode(const ClusterEvent& event, const PodInfo& pod) const {
  const std::string node = handle_.nominator().nodeOf(pod.uid());
  return !node.empty() && event.oldPod && event.oldPod->pod->spec.nodeName == node;
}

PostFilterResult JobPreemption::preempt(const PodPtr& pod, const Diagnosis& diagnosis) {
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  const std::string job = gang ? Gangs::groupIdOf(*gang) : pod->key();
  const SteadyTime since = handle_.executor().steadyNow();
  PostFilterResult result = preemptForAll(pod, diagnosis);
  if (Observer* observer = handle_.observer())
    observer->jobPreempted(job, resultOf(result.status), handle_.executor().steadyNow() - since);
  // Victims for one member alone would be evicted without effect.
  if (result.status.code == Code::Unschedulable && gang && !cycles_.gangs().free(*gang))
    result.status.code = Code::UnschedulableAndUnresolvable;
  return result;
}

PostFilterResult JobPreemption::preemptForAll(const PodPtr& pod, const Diagnosis& /*diagnosis*/) {
  PostFilterResult result;
  result.victims = 0;
  Members members = membersOf(*pod);
  const std::size_t count = members.pods.size();
  if (count == 0) {
    result.status.code = Code::Unschedulable;
    return result;
  }
  if (std::string why = notEligible(*pod, members.pods); !why.empty()) {
    if (PreemptionRules::neverPreempts(*pod)) result.nomination = {true, ""};
    result.status = unschedulable(std::move(why));
    return result;
  }
  const JobRules rules(handle_.cluster(), pod->priority);
  if (rules.empty()) {
    result.status = unschedulable("no potential victims");
    result.nomination = {true, ""};
    return result;
  }
  const JobPlan plan = planFor(*pod, rules, std::move(members));
  if (!plan.status.ok()) {
    result.status = unschedulable("preemption not helpful: " + plan.status.message());
    result.nomination = {true, ""};
    return result;
  }
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  if (plan.victims.empty() && !mayNominate(Gangs::groupIdOf(*gang))) {
    result.status =
        unschedulable("no victims are needed, but the nominated nodes could not be used");
    result.nomination = {true, ""};
    return result;
  }
  if (!execute(plan)) {
    result.status = unschedulable("the cluster has changed in the meantime");
    return result;
  }
  result.nomination = cycles_.nominationOf(*pod);
  if (plan.victims.empty()) {
    if (!evictionsOf(handle_).rehearsing()) requeueSoon(pod);
    result.status = unschedulable(
        fmt::format("no victims are needed, {} members are nominated", plan.places.size()));
    return result;
  }
  std::size_t victims = 0;
  for (const auto& [node, pods] : plan.victims) victims += pods.size();
  result.victims = victims;
  result.status.setReasons({fmt::format(
      "preemption: preempt success, alreadyWaitingForBound: {}/{}", plan.places.size(), count)});
  return result;
}

bool JobPreemption::execute(const JobPlan& plan) {
  std::map<NodeId, JobPlan::Place> preemptors;  // by node: the first member that goes there
  for (const JobPlan::Place& place : plan.places) preemptors.emplace(place.node, place);
  // Victims that free quota may be on nodes without members. Their preemptor is the first member
  // that may preempt.
  const auto first = std::ranges::find_if(plan.places, [](const JobPlan::Place& place) {
    return !PreemptionRules::neverPreempts(*place.member);
  });
  if (first == plan.places.end() && !plan.victims.empty()) return false;
  std::map<std::string, Evictions::Order> orders;  // by preemptor's uid
  for (const auto& [node, victims] : plan.victims) {
    const auto there = preemptors.find(node);
    const JobPlan::Place& place = there == preemptors.end() ? *first : there->second;
    Evictions::Order& order = orders[place.member->uid()];
    order.preemptor = place.member;
    order.node = handle_.cluster().node(place.node).name;
    std::ranges::copy(victims, std::back_inserter(order.victims));
  }
  std::vector<Evictions::Order> all;
  for (auto& [uid, order] : orders) all.push_back(std::move(order));
  if (!evictionsOf(handle_).start(std::move(all), {"JobPreemptionSuccessPlugin", handle_.events(),
                                                   nullptr, &handle_.profile()}))
    return false;
  if (evictionsOf(handle_).rehearsing()) return true;
  for (const JobPlan::Place& place : plan.places)
    cycles_.nominations()[place.member->uid()] = handle_.cluster().node(place.node).name;
  return true;
}

bool JobPreemption::mayNominate(const std::string& group) {
  if (evictionsOf(handle_).rehearsing()) return true;
  const SteadyTime now = handle_.executor().steadyNow();
  const GangRefusal* refusal = cycles_.refusalOf(group);
  const WallTime since = refusal ? refusal->since : handle_.executor().wallNow();
  if (nominated_.size() > kGroupsKept)
    std::erase_if(nominated_, [&](const auto& entry) { return entry.second.until <= now; });
  Nominated& nominated = nominated_[group];
  if (nominated.since != since) nominated = {since};  // the gang was placed in between
  if (now < nominated.until) return false;
  if (nominated.unusedNominations++ < kMaxUnusedNominations) return true;
  nominated.unusedNominations = 0;
  nominated.lastPause = std::clamp<Duration>(nominated.lastPause * 2, kShortestRest, kLongestRest);
  nominated.until = now + nominated.lastPause;
  return false;
}

void JobPreemption::requeueSoon(const PodPtr& pod) {
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  if (!gang) return;
  std::string group = Gangs::groupIdOf(*gang);
  if (!requeuing_.insert(group).second) return;
  const GangRefusal* refusal = cycles_.refusalOf(group);
  const WallTime now = handle_.executor().wallNow();
  // As long as it has already waited, so the pause doubles with every failed attempt.
  const Duration waited = refusal ? now - refusal->since : Duration::zero();
  tasks_.spawn(
      requeueAfter(pod, std::move(group), std::clamp(waited, kShortestPause, kLongestPause)));
}

Task<void> JobPreemption::requeueAfter(PodPtr pod, std::string group, Duration pause) {
  auto pausing = sleepFor(handle_.executor(), pause);
  co_await pausing;
  requeuing_.erase(group);
  handle_.activate({pod});
}

PostFilterResult JobPreemption::checkHelps(const PodPtr& pod, const Diagnosis& /*diagnosis*/) {
  PostFilterResult result;
  result.status.code = Code::Unschedulable;
  helped_ = {};
  const Gangs& gangs = cycles_.gangs();
  const Gang* gang = gangs.gangOf(*pod);
  if (!gang || gangs.free(*gang)) return result;
  if (PreemptionRules::neverPreempts(*pod)) {
    result.nomination = {true, ""};
    return result;
  }
  if (placement_ && gangs.networkOf(*gang)) {
    result.status = Status::unresolvable(
        "preemption: a gang that is placed by network topology needs enablePreemption");
    return result;
  }
  // The victims that a single pod may have: labels that protect pods from a job's preemption do not
  // count here.
  const PreemptionRules rules;
  const bool any = std::ranges::any_of(handle_.cluster().pods(), [&](const auto& record) {
    return rules.mayBePreempted(*record.info, *pod);
  });
  if (!any) return result;
  JobPlan plan = planFor(*pod, rules, membersOf(*pod));
  if (plan.status.ok()) {
    helped_ = {pod, std::move(plan.places)};
  } else {
    result.status = noPlacement(plan);
    result.nomination = {true, ""};
  }
  return result;
}

bool JobPreemption::fitAsPlanned(const Members& members) const {
  std::unordered_map<std::string, NodeId> planned;
  NodeSet nodes;
  for (const JobPlan::Place& place : helped_.places) {
    planned.emplace(place.member->uid(), place.node);
    nodes.insert(place.node);
  }
  const JobPlacer placer = [&](std::span<const PodPtr> pods,
                               const JobCost&) -> Result<std::vector<NodeId>> {
    std::vector<NodeId> places;
    for (const PodPtr& pod : pods) {
      const auto place = planned.find(pod->uid());
      places.push_back(place == planned.end() ? kNoNode : place->second);
    }
    return places;
  };
  const PreemptionRules rules;
  const JobPlan plan = planJob(handle_, rules, members.pods, nodes, placer, members.spareMembers());
  return plan.status.ok() && displacedMembers(plan).empty();
}

Status JobPreemption::checkHelpfulness(const PodPtr& pod, const Candidate& candidate) {
  const Gang* gang = cycles_.gangs().gangOf(*pod);
  if (!gang || cycles_.gangs().free(*gang)) return {};
  Cluster::Transaction whatIf(handle_.cluster());
  for (const PodPtr& victim : candidate.victims) handle_.cluster().removePod(victim->uid());
  if (const auto placed = handle_.cluster().assume(pod, candidate.node); !placed)
    return Status::of(placed.error());
  for (TentativePlugin* plugin : handle_.profile().offers<TentativePlugin>())
    if (Status given = plugin->grant(pod, candidate.node); !given.ok()) return given;
  // If the gangs lack no more members, the others may be placed later.
  const bool whole = std::ranges::all_of(cycles_.gangShortages(*gang),
                                         [](const auto& entry) { return entry.second == 0; });
  if (whole) return {};
  Members members = membersOf(*pod);
  if (helped_.pod == pod && members.enough() && fitAsPlanned(members)) return {};
  const JobPlan plan = planFor(*pod, PreemptionRules(), std::move(members));
  return plan.status.ok() ? Status{} : noPlacement(plan);
}

}  // namespace koord::scheduler
