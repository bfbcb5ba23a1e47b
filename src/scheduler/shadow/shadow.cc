#include "scheduler/shadow/shadow.h"

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "model/well_known.h"
#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

namespace {

constexpr std::size_t kMostOpen = 256;
constexpr std::size_t kMostAgreed = 1 << 16;
constexpr Duration kTellEvery = std::chrono::minutes(1);

const api::PodCondition* scheduledCondition(const api::Pod& pod) {
  const auto& all = pod.status.conditions;
  const auto found = std::ranges::find(all, "PodScheduled", &api::PodCondition::type);
  return found == all.end() ? nullptr : &*found;
}

// The condition of a pod for which the incumbent found no node.
const api::PodCondition* refusalOf(const api::Pod& pod) {
  const api::PodCondition* condition = scheduledCondition(pod);
  const bool refused =
      condition && condition->status == "False" && condition->reason == "Unschedulable";
  return refused ? condition : nullptr;
}

// When the pod was created, bound or refused, if the change is that and says so.
api::Time madeAt(const api::Pod* before, const api::Pod& after) {
  if (!before) return after.metadata.creationTimestamp;
  if (!before->spec.nodeName.empty()) return {};
  const api::PodCondition* said = scheduledCondition(after);
  if (!said) return {};
  const api::PodCondition* had = scheduledCondition(*before);
  if (had && had->lastTransitionTime == said->lastTransitionTime) return {};
  return said->lastTransitionTime;
}

bool hasGrants(const api::Pod& pod) {
  return std::ranges::any_of(model::kGrantAnnotations, [&](std::string_view key) {
    return pod.metadata.annotations.contains(std::string(key));
  });
}

// Some incumbents write what a pod gets before they bind it.
std::shared_ptr<const api::Pod> withoutGrants(const api::Pod& pod) {
  auto copy = std::make_shared<api::Pod>(pod);
  for (const std::string_view key : model::kGrantAnnotations)
    copy->metadata.annotations.erase(std::string(key));
  return copy;
}

}  // namespace

SchedulerConfiguration shadowConfiguration(SchedulerConfiguration configuration,
                                           const std::string& incumbent) {
  auto& profiles = configuration.profiles;
  auto own = std::ranges::find(profiles, incumbent, &ProfileConfig::schedulerName);
  if (own == profiles.end()) {
    // Not the incumbent's configuration: pods of its other names are not the incumbent's.
    profiles.resize(1);
    own = profiles.begin();
    log::info("no profile is called {}: its pods are decided by the first one, {}", incumbent,
              own->schedulerName);
    own->schedulerName = incumbent;
  }
  own->percentageOfNodesToScore.reset();
  configuration.percentageOfNodesToScore = 0;
  configuration.leaderElection.leaderElect = false;
  return configuration;
}

Shadow::Shadow(ShadowOptions options, Scheduler& scheduler, Executor& executor,
               const ReadOnlyApi& api)
    : options_(std::move(options)),
      scheduler_(scheduler),
      executor_(executor),
      api_(api),
      decider_(scheduler, options_.incumbent),
      budget_(options_.share, executor.steadyNow()),
      changes_(decider_.cluster(), decider_.nominator(), options_.moment) {
  scheduler_.hooks().podChanging = [this](const PodObject& before, const PodObject& after) {
    runGuarded("the shadow", "a change of a pod", [&] { podChanging(before, after); });
  };
}

Shadow::~Shadow() {
  scheduler_.hooks().podChanging = nullptr;
  executor_.cancel(timer_);
}

void Shadow::start() {
  started_ = true;
  startedAt_ = executor_.wallNow();
  log::info("shadow of {}: comparing its decisions on {} nodes", options_.incumbent,
            scheduler_.cluster().liveCount());
}

void Shadow::podChanging(const PodObject& before, const PodObject& after) {
  if (!after) return ended(before);
  const bool late = started_ && noteLag(before, after);
  if (!before) return appeared(after);
  if (!after->spec.nodeName.empty()) {
    if (before->spec.nodeName.empty()) bound(before, after, late);
  } else if (started_) {
    if (after->spec.schedulerName == options_.incumbent) waited(before, after, late);
    if (before->status.nominatedNodeName != after->status.nominatedNodeName)
      if (const PodPtr pod = pendingPod(before->metadata.uid))
        changes_.nominated(pod, executor_.steadyNow());
  }
}

bool Shadow::noteLag(const PodObject& before, const PodObject& after) {
  Duration lag = lag_;
  const api::Time made = madeAt(before.get(), *after);
  // Users may write impossible times.
  if (made) lag = std::max(Duration::zero(), executor_.wallNow() - std::max(*made, WallTime{}));
  const bool late = options_.lag > Duration::zero() && lag > options_.lag;
  const bool byServer = !before || !after->spec.nodeName.empty();
  if (made && byServer) {
    lag_ = lag;
    metrics_.lags(lag);
    if (late) lateAt_ = executor_.steadyNow();
  }
  return late;
}

void Shadow::appeared(const PodObject& pod) {
  const std::string& uid = pod->metadata.uid;
  if (pod->spec.nodeName.empty()) {
    seen_[uid] = {++pods_, executor_.steadyNow(), started_};
    return;
  }
  if (!started_) return;
  const auto priority = pod->spec.priority.value_or(0);
  changes_.bound(scheduler_.describe(pod), {priority, ++pods_}, executor_.steadyNow());
  const bool mirror = pod->metadata.annotations.contains(std::string(model::kAnnotationMirrorPod));
  if (pod->spec.schedulerName == options_.incumbent && !mirror && !api::isTerminal(*pod))
    metrics_.skipped(Skip::Unseen);
}

void Shadow::ended(const PodObject& pod) {
  seen_.erase(pod->metadata.uid);
  if (const auto* record = scheduler_.cluster().findPod(pod->metadata.uid))
    changes_.ended(*record, executor_.steadyNow());
  if (const PodPtr waiting = pendingPod(pod->metadata.uid);
      waiting && !decider_.nominator().nodeOf(pod->metadata.uid).empty())
    changes_.nominated(waiting, executor_.steadyNow());
}

void Shadow::bound(const PodObject& before, const PodObject& after, bool late) {
  const std::string& uid = after->metadata.uid;
  const SteadyTime now = executor_.steadyNow();
  Question question = questionFor(before, {Choice::Kind::Place, after->spec.nodeName, {}, {}});
  if (started_ && after->spec.schedulerName == options_.incumbent) {
    const auto seen = seen_.find(uid);
    if (seen != seen_.end() && seen->second.created) metrics_.incumbentTook(now - seen->second.at);
    if (late) {
      fellBehind(Skip::Late);
    } else {
      compare(question);
    }
  }
  changes_.bound(question.pod, question.place, now);
  seen_.erase(uid);
}

void Shadow::waited(const PodObject& before, const PodObject& after, bool late) {
  const api::PodCondition* said = refusalOf(*after);
  if (!said) return;
  const api::PodCondition* had = refusalOf(*before);
  const std::string nominated = after->status.nominatedNodeName.str();
  const bool sameNode = before->status.nominatedNodeName == after->status.nominatedNodeName;
  // A nomination ends without a decision if a pod of higher priority gets the node.
  const bool sameMessage = had && had->message == said->message;
  if (sameMessage && (sameNode || nominated.empty())) return;
  // It keeps its node while its victims terminate: that was decided before.
  if (!nominated.empty() && sameNode) return metrics_.skipped(Skip::VictimsTerminate);
  if (late) return fellBehind(Skip::Late);
  Choice incumbent{.message = said->message};
  if (!nominated.empty()) incumbent = {Choice::Kind::Preempt, nominated, said->message, {}};
  compare(questionFor(before, std::move(incumbent)));
}

PodPtr Shadow::pendingPod(const std::string& uid) const {
  const auto pending = scheduler_.pendingPods().find(uid);
  return pending == scheduler_.pendingPods().end() ? nullptr : pending->second;
}

Shadow::Question Shadow::questionFor(const PodObject& pod, Choice incumbent) {
  PodPtr info = pendingPod(pod->metadata.uid);
  if (hasGrants(*pod)) {
    info = scheduler_.describe(withoutGrants(*pod));
  } else if (!info) {
    info = scheduler_.describe(pod);
  }
  const auto seen = seen_.find(pod->metadata.uid);
  const std::uint64_t number = seen == seen_.end() ? 0 : seen->second.number;
  const RecentChanges::Place place{info->priority, number};
  const bool group = incumbent.kind != Choice::Kind::Place && decider_.waitsWithGroup(*info);
  return {std::move(info), std::move(incumbent), place, group};
}

NodeId Shadow::nodeOf(const Choice& choice) {
  return scheduler_.cluster().findNode(choice.node).value_or(kNoNode);
}

Choice Shadow::decide(const Question& question, bool favor) {
  const NodeId favored = favor ? nodeOf(question.incumbent) : kNoNode;
  return question.group
             ? decider_.decideWithGroup(question.pod, favored, [this] { return outOfTime(); })
             : decider_.decide(question.pod, favored);
}

// A gang preempts for one of its members, and the others wait for it.
bool Shadow::same(const Question& question, const Choice& ours) {
  if (isSame(question.incumbent, ours, question.group)) return true;
  return question.group && question.incumbent.kind == Choice::Kind::Wait &&
         ours.kind == Choice::Kind::Preempt && decider_.groupIsNominated(*question.pod);
}

bool Shadow::agreesNearby(const Question& question, SteadyTime since) {
  bool agrees = false;
  const auto ends = [&] {
    if (outOfTime()) return true;
    agrees = agreesNow(question);
    return agrees;
  };
  (void)changes_.anyState({question.pod->uid(), question.place, since}, ends);
  return agrees;
}

// Without a difference the result agrees. nullopt: the time was over before it was known.
std::optional<Match> Shadow::compareNow(const Question& question, Choice& ours) {
  const SteadyTime since = executor_.steadyNow();
  ours = decide(question, false);
  metrics_.shadowTook(executor_.steadyNow() - since);
  if (same(question, ours)) return agreementOf(question.incumbent, false);
  if (outOfTime()) return std::nullopt;
  const Choice favoring = decide(question, true);
  if (same(question, favoring)) return agreementOf(question.incumbent, true);
  ours = favoring;
  if (options_.moment > Duration::zero() && agreesNearby(question, since - options_.moment))
    return Match::NearbyState;
  if (outOfTime()) return std::nullopt;
  return differenceOf(question.incumbent, ours, true);
}

void Shadow::compare(Question question) {
  if (open_.size() >= kMostOpen) settle();
  const SteadyTime now = executor_.steadyNow();
  if (!budget_.mayWork(now)) return fellBehind(Skip::Behind);
  if (decider_.needsExtender(*question.pod)) return metrics_.skipped(Skip::Extender);
  Choice ours;
  const std::optional<Match> match = compareNow(question, ours);
  if (!match) {
    fellBehind(Skip::Behind);
  } else if (agrees(*match)) {
    if (agreed_.size() >= kMostAgreed) settleAgreements(agreed_.front().since + options_.moment);
    agreed_.push_back({*match, now});
  } else {
    open_.push_back(describe(std::move(question), std::move(ours)));
  }
  if (timer_ == 0) wakeInTime();
  budget_.spend(executor_.steadyNow() - now);
}

Shadow::Difference Shadow::describe(Question question, Choice ours) {
  Difference difference{.time = executor_.wallNow(), .since = executor_.steadyNow()};
  const NodeId theirs = nodeOf(question.incumbent), own = nodeOf(ours);
  const bool places = question.incumbent.kind == Choice::Kind::Place;
  if (places) difference.judgement = decider_.judge(question.pod, theirs, own);
  if (places && ours.kind == Choice::Kind::Place && theirs != kNoNode) {
    difference.left = footprintOf(scheduler_.cluster(), *question.pod, theirs);
    difference.instead = footprintOf(scheduler_.cluster(), *question.pod, own);
  }
  difference.match = differenceOf(question.incumbent, ours, difference.judgement.feasible);
  difference.question = std::move(question);
  difference.shadow = std::move(ours);
  return difference;
}

// When the moment of the oldest result has passed.
void Shadow::wakeInTime() {
  if (open_.empty() && agreed_.empty()) return;
  SteadyTime oldest = SteadyTime::max();
  if (!open_.empty()) oldest = open_.front().since;
  if (!agreed_.empty()) oldest = std::min(oldest, agreed_.front().since);
  timer_ = executor_.runAt(oldest + options_.moment, [this] {
    timer_ = 0;
    const SteadyTime now = executor_.steadyNow();
    settleAgreements(now);
    if (!open_.empty() && open_.front().since + options_.moment <= now) settle();
    wakeInTime();
  });
}

// Those whose moment has passed.
void Shadow::settleAgreements(SteadyTime now) {
  while (!agreed_.empty() && agreed_.front().since + options_.moment <= now) {
    const Agreement agreement = agreed_.front();
    agreed_.pop_front();
    if (lateAt_ >= agreement.since) {
      fellBehind(Skip::Late);
    } else {
      metrics_.compared(agreement.match);
    }
  }
}

// Ends the oldest open difference, and all others whose moment has passed.
void Shadow::settle() {
  const SteadyTime now = executor_.steadyNow();
  while (!open_.empty()) {
    Difference difference = std::move(open_.front());
    open_.pop_front();
    finish(std::move(difference));
    if (!open_.empty() && open_.front().since + options_.moment > now) return;
  }
}

// A difference of a list that follows an outage may be checked before the older changes in it come.
void Shadow::finish(Difference difference) {
  if (lateAt_ >= difference.since) return fellBehind(Skip::Late);
  const std::optional<Match> match = checkAgain(difference);
  if (!match) return fellBehind(Skip::Behind);
  if (agrees(*match)) return metrics_.compared(*match);
  record(std::move(difference));
}

// nullopt: without time to look for a nearby state, a difference does not count, it may be none.
std::optional<Match> Shadow::checkAgain(const Difference& difference) {
  if (options_.moment == Duration::zero()) return difference.match;
  const Question& question = difference.question;
  const SteadyTime begun = executor_.steadyNow();
  if (!budget_.mayWork(begun)) return std::nullopt;
  Cluster::Transaction without(decider_.cluster());
  decider_.cluster().removePod(question.pod->uid());
  const bool nearby =
      agreesNow(question) || agreesNearby(question, difference.since - options_.moment);
  const bool known = nearby || !outOfTime();
  budget_.spend(executor_.steadyNow() - begun);
  if (!known) return std::nullopt;
  return nearby ? Match::NearbyState : difference.match;
}

void Shadow::fellBehind(Skip why) {
  metrics_.skipped(why);
  const SteadyTime now = executor_.steadyNow();
  if (now < tellAgain_) return;
  tellAgain_ = now + kTellEvery;
  log::warn(
      "shadow of {}: not compared so far: {} decisions because decisions took {}% of the time "
      "(raise --shadow-share, or give it a faster CPU), {} because they arrived more than {} after "
      "they happened (an outage, a slow watch, or clocks that differ: --shadow-lag)",
      options_.incumbent, metrics_.count(Skip::Behind), options_.share, metrics_.count(Skip::Late),
      formatDuration(options_.lag));
}

}  // namespace koord::scheduler
