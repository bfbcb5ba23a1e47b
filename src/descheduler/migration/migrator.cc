#include "descheduler/migration/migrator.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/selector.h"
#include "base/time.h"
#include "descheduler/migration/keys.h"
#include "descheduler/migration/reconciler.h"
#include "descheduler/rules/node_fit.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

// How many decided moves are sent to the scheduler with the next request.
constexpr std::size_t kMaxReportedMoves = 200;
constexpr int kMaxPlaces = 4;  // that are tried for a pod
// Longer than a cycle; the next cycle plans again.
constexpr Duration kDryRunLasts = std::chrono::seconds(5);

// In the mode EvictDirectly nothing keeps a pod from returning to its node.
std::set<std::string> avoidedNodes(const api::PodMigrationJob& job, const api::Pod& pod) {
  if (job.spec.mode == "EvictDirectly") return {};
  return {pod.spec.nodeName};
}

}  // namespace

Migrator::Migrator(const Parts& parts)
    : args_(parts.args),
      handle_(parts.handle),
      jobs_(parts.jobs),
      gates_(parts.gates),
      workloads_(parts.workloads),
      gangs_(parts.gangs),
      arrivals_(parts.arrivals),
      futileMoves_(parts.futileMoves),
      metrics_(parts.metrics),
      limiter_(parts.limiter),
      landing_(parts.landing),
      budgets_(parts.handle),
      writer_(parts.handle, parts.jobs) {}

std::map<std::string, WallTime> Migrator::recentlyLeftNodes(const api::Pod& pod) const {
  std::map<std::string, WallTime> nodes;
  const auto workload = workloads_.of(pod);
  if (workload.key.empty() || args_.landing.noReturnPeriod <= Duration::zero()) return nodes;
  const WallTime now = handle_.executor().wallNow();
  for (const JobPtr& job : jobs_.inNamespace(pod.metadata.namespace_)) {
    if (annotationOf(*job, kAnnotationWorkload) != workload.key) continue;
    const auto* eviction = conditionOf(job->status, condition::kEviction);
    const auto from = annotationOf(*job, kAnnotationFromNode);
    if (!eviction || from.empty() || !eviction->lastTransitionTime) continue;
    if (now - *eviction->lastTransitionTime >= args_.landing.noReturnPeriod) continue;
    WallTime& last = nodes[std::string(from)];
    last = std::max(last, *eviction->lastTransitionTime);
  }
  return nodes;
}

bool Migrator::fitsElsewhere(const Pod& pod) const {
  const auto selector = api::Selector::parse(args_.nodeSelector);
  Nodes nodes = handle_.nodes();
  std::erase_if(nodes, [&](const NodeView& view) {
    return selector && !selector->matches(view.node->metadata.labels);
  });
  return fitsAnyOtherNode(pod, nodes);
}

// Checks limits and failed migrations.
std::string Migrator::temporaryDenial(const Pod& pod, const Gates::MovingPods& together) {
  const auto denied = [&](const char* limit, std::string why) {
    metrics_.denied(limit);
    return why;
  };
  if (auto denial = gates_.temporaryDenial(pod, Gates::Counting::Open, together);
      !denial.why.empty())
    return denied(denial.limit, std::move(denial.why));
  if (reservesFirst())
    if (auto why = futileMoves_.refusal(pod, handle_.executor().wallNow()); !why.empty())
      return denied("futility", std::move(why));
  // A recent eviction delays the next one; a gang moves at once.
  const bool atOnce = together.size() > 1 && pod.facts.is(PodFacts::Gang);
  const Duration wait = atOnce ? Duration{} : limiter_.wait(pod, workloads_.of(pod).key);
  if (wait == Duration::zero()) return {};
  return denied("objectLimiters",
                fmt::format("the rate limit of evictions (objectLimiters) is reached: wait {}",
                            formatDuration(std::chrono::ceil<std::chrono::seconds>(wait))));
}

// The rate limits must allow all pods that move together. Gangs are exempt.
std::string Migrator::rateDenial(const std::vector<PodPtr>& pods) {
  std::vector<ObjectLimiter::Eviction> evictions;
  for (const PodPtr& pod : pods) {
    if (pod->facts.is(PodFacts::Gang) || pod->facts.is(PodFacts::EvictMe)) continue;
    const auto workload = workloads_.of(*pod);
    evictions.push_back({pod, workload.key, workload.replicas});
  }
  if (evictions.size() < 2 || limiter_.waitForAll(evictions) == Duration::zero()) return {};
  metrics_.denied("objectLimiters");
  return fmt::format("the rate limit of evictions (objectLimiters) does not allow {} at once",
                     evictions.size());
}

// Why the pods may not move; "" if they may.
Task<std::string> Migrator::refusal(PodPtr pod, std::vector<PodPtr> pods) {
  Gates::MovingPods together;
  for (const PodPtr& each : pods) together.emplace(each->metadata.uid, each->metadata.namespace_);
  for (const PodPtr& each : pods) {
    auto preparing = workloads_.prepare(each);
    co_await preparing;
    std::string why = gates_.otherJob(*each);
    if (why.empty()) why = gates_.wrongScheduler(*each);
    if (why.empty()) why = gates_.permanentDenial(*each);
    if (why.empty()) why = temporaryDenial(*each, together);
    if (!why.empty())
      co_return each == pod
          ? why
          : fmt::format(
                "{} migrated as a whole or not at all; pod {}: {}",
                pod->facts.is(PodFacts::Gang) ? "its gang is" : "pods that move for another are",
                each->metadata.name, why);
  }
  if (std::string why = rateDenial(pods); !why.empty()) co_return why;
  if (args_.evictionPolicy != "Eviction") co_return std::string();
  auto asking = budgets_.refusal(std::move(pods));
  std::string why = co_await asking;
  co_return why;
}

std::vector<LandingMove> Migrator::movesInFlight() const {
  std::vector<LandingMove> moves;
  for (const std::string& name : jobs_.open()) {
    const JobPtr job = jobs_.get(name);
    const auto planned = annotationOf(*job, kAnnotationPlannedNode);
    const bool held =
        isTrue(job->status, condition::kReservationScheduled) ||
        (job->spec.reservationOptions && job->spec.reservationOptions->reservationRef);
    if (planned.empty() || held || conditionOf(job->status, condition::kEviction)) continue;
    const PodPtr pod = handle_.stores().pod(podKeyOf(*job));
    if (!pod || pod->metadata.uid != job->spec.podRef.uid || moves.size() >= kMaxReportedMoves)
      continue;
    moves.push_back({.pod = pod,
                     .whole = nullptr,
                     .stays = job->spec.mode != "EvictDirectly",
                     .avoid = avoidedNodes(*job, *pod),
                     .group = std::string(annotationOf(*job, kAnnotationMoveTogether))});
  }
  return moves;
}

void Migrator::rememberDryRun(const Plan& plan) {
  const SteadyTime now = handle_.executor().steadyNow();
  for (std::size_t i = 0; i < plan.pods.size(); ++i) {
    LandingMove move;
    move.pod = plan.pods[i];
    move.stays = reservesFirst();
    if (reservesFirst()) move.avoid = plan.avoid[i];
    if (plan.pods.size() > 1) move.group = plan.pods.front()->metadata.uid;
    dryMoves_[plan.pods[i]->metadata.uid] = {now, std::move(move), plan.landing[i]};
  }
}

// The kept pod lacks fields that a scheduler needs (host ports), so it is read.
Task<Result<LandingMove>> Migrator::moveOf(PodPtr pod) {
  const api::ObjectKey key = api::keyOf(pod->metadata);
  auto reading = kube::getObject(handle_.api(), api::Pod::kType, key);
  auto whole = co_await reading;
  if (!whole || textAt(*whole, "metadata", "uid") != pod->metadata.uid)
    co_return fail(ErrorCode::NotFound, fmt::format("pod {} does not exist", key.toString()));
  LandingMove move;
  move.pod = std::move(pod);
  move.whole = std::make_shared<const json::value>(*std::move(whole));
  co_return move;
}

// The decided moves, followed by those of the plan.
Task<Result<std::vector<LandingMove>>> Migrator::movesWith(const Plan* plan) {
  std::vector<LandingMove> moves = movesInFlight();
  const SteadyTime now = handle_.executor().steadyNow();
  std::erase_if(dryMoves_, [&](const auto& entry) { return now - entry.second.at > kDryRunLasts; });
  for (const auto& [uid, dry] : dryMoves_)
    if (moves.size() < kMaxReportedMoves) moves.push_back(dry.move);
  for (std::size_t i = 0; i < plan->pods.size(); ++i) {
    auto describing = moveOf(plan->pods[i]);
    auto move = co_await describing;
    if (!move) co_return fail(std::move(move.error()));
    move->stays = reservesFirst();
    if (reservesFirst()) move->avoid = plan->avoid[i];
    move->group = plan->pods.size() > 1 ? "this" : "";
    moves.push_back(*std::move(move));
  }
  co_return moves;
}

// The number of pods on their way, by node, including those of dry runs.
std::map<std::string, std::int64_t> Migrator::arriving() const {
  auto counts = arrivals_.arrivingByNode();
  for (const auto& [uid, dry] : dryMoves_)
    if (!dry.landing.empty()) ++counts[dry.landing];
  return counts;
}

// Takes the places. Returns "" if there is a place for each, else the reason. `worse`: why the
// previous place was rejected.
std::string Migrator::takePlaces(std::span<const LandingPlace> places, const std::string& worse,
                                 Plan& plan) {
  auto counts = arriving();
  for (std::size_t i = 0; i < plan.pods.size(); ++i) {
    const std::string& name = plan.pods[i]->metadata.name;
    const LandingPlace& place = places[i];
    const bool avoided = plan.avoid[i].contains(place.node);
    const std::int64_t count = place.node.empty() ? 0 : counts[place.node]++;
    if (arrivals_.limited() && count >= args_.maxArrivingPerNode) {
      metrics_.denied("maxArrivingPerNode");
      return fmt::format("pod {} must wait: {}", name, arrivals_.limitMessage(place.node, count));
    }
    if (place.node.empty() || (avoided && !worse.empty()))
      return fmt::format("pod {} would not find a better node: {}", name,
                         worse.empty() ? place.why : worse);
    if (avoided)
      return fmt::format(
          "pod {} would return to node {}, from which it or its workload is migrated", name,
          place.node);
    plan.landing[i] = place.node;
  }
  return "";
}

// Finds a place for each pod. Returns "" if there is one for each, else the reason.
Task<std::string> Migrator::findPlaces(Plan* plan, const EvictOptions* options) {
  plan->landing.assign(plan->pods.size(), "");
  auto describing = movesWith(plan);
  Result<std::vector<LandingMove>> moves = co_await describing;
  if (!moves) co_return moves.error().message;
  const std::size_t before = moves->size() - plan->pods.size();
  // A place that is not better than the present one is avoided, and the next best is requested.
  std::string worse;
  for (int tries = 0; tries < kMaxPlaces; ++tries) {
    std::vector<LandingMove> asked = *moves;
    auto asking = landing_.ask(std::move(asked));
    const auto places = co_await asking;
    if (!places) co_return noTargetReason(*plan);
    plan->plannedBy = "koord-scheduler";
    std::string why = takePlaces(std::span(*places).subspan(before), worse, *plan);
    if (!why.empty()) co_return why;
    const std::string& landing = plan->landing.front();
    worse = options->rejectTarget ? options->rejectTarget(*plan->pods.front(), landing) : "";
    if (worse.empty()) co_return std::string();
    if (!reservesFirst()) break;  // the pod cannot be kept off that place
    plan->avoid.front().insert(landing);
    (*moves)[before].avoid.insert(landing);
  }
  co_return fmt::format("pod {} would not find a better node: {}",
                        plan->pods.front()->metadata.name, worse);
}

// Where the scheduler would place the last of these pods; nullopt: it does not say.
Task<std::optional<LandingPlace>> Migrator::placeOfLast(std::vector<LandingMove> moves) {
  auto asking = landing_.ask(std::move(moves));
  const auto places = co_await asking;
  co_return places ? std::optional(places->back()) : std::nullopt;
}

// Returns "" if the pod waits for a node, and none accepts it without the moves of the plan, else
// the reason.
Task<std::string> Migrator::helpRefusal(const LandingMove* waiting) {
  const std::string name = api::keyOf(waiting->pod->metadata).toString();
  if ((!waiting->stays && !textAt(*waiting->whole, "spec", "nodeName").empty()) ||
      !textAt(*waiting->whole, "metadata", "deletionTimestamp").empty())
    co_return fmt::format("pod {} does not wait for a node", name);
  const Plan none;
  auto describing = movesWith(&none);
  Result<std::vector<LandingMove>> moves = co_await describing;
  if (!moves) co_return moves.error().message;
  moves->push_back(*waiting);
  auto asking = placeOfLast(*std::move(moves));
  const auto place = co_await asking;
  co_return place && !place->node.empty()
      ? fmt::format("pod {} would get node {} without the moves", name, place->node)
      : std::string();
}

// Returns "" if a node accepts the pod once the pods of the plan have left, and none before, else
// the reason.
Task<std::string> Migrator::beneficiaryRefusal(const Plan* plan, PodPtr waiting) {
  const std::string name = api::keyOf(waiting->metadata).toString();
  auto describingLast = moveOf(waiting);
  auto last = co_await describingLast;
  if (!last) co_return last.error().message;
  last->stays = !waiting->spec.nodeName.empty();
  const LandingMove* const asked = &*last;
  auto checking = helpRefusal(asked);
  std::string why = co_await checking;
  if (!why.empty()) co_return why;
  auto describing = movesWith(plan);
  Result<std::vector<LandingMove>> moves = co_await describing;
  if (!moves) co_return moves.error().message;
  for (std::size_t i = moves->size() - plan->pods.size(); i < moves->size(); ++i) {
    (*moves)[i].stays = false;
    (*moves)[i].group = "this";
  }
  last->group = "this";
  moves->push_back(*std::move(last));
  auto asking = placeOfLast(*std::move(moves));
  const auto place = co_await asking;
  if (!place)
    co_return fmt::format("koord-scheduler does not foretell whether pod {} would get a node",
                          name);
  co_return place->node.empty()
      ? fmt::format("pod {} would get no node after the moves: {}", name, place->why)
      : std::string();
}

std::string Migrator::noTargetReason(const Plan& plan) const {
  if (!args_.nodeFit) return "";
  for (const PodPtr& pod : plan.pods)
    if (!fitsElsewhere(*pod))
      return fmt::format("no other node takes pod {} (nodeFit)", pod->metadata.name);
  return "";
}

std::string Migrator::newName() const {
  Random& random = handle_.random();
  const std::uint64_t a = random.next(), b = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xffff, a & 0xfff,
                     (b >> 48 & 0x3fff) | 0x8000, b & 0xffffffffffff);
}

json::object Migrator::jobFor(const Plan& plan, std::size_t i, const EvictOptions& options,
                              const std::string& group) const {
  const Pod& pod = *plan.pods[i];
  json::object annotations;
  annotations[kAnnotationEvictReason] = options.reason;
  annotations[kAnnotationEvictTrigger] = options.plugin;
  annotations[kAnnotationJobCreatedBy] = Reconciler::creator(handle_);
  annotations[kAnnotationFromNode] = pod.spec.nodeName;
  if (const auto workload = workloads_.of(pod); !workload.key.empty())
    annotations[kAnnotationWorkload] = workload.key;
  if (!plan.landing[i].empty()) {
    annotations[kAnnotationPlannedNode] = plan.landing[i];
    annotations[kAnnotationPlannedBy] = plan.plannedBy;
  }
  std::set<std::string> avoid = plan.avoid[i];
  avoid.erase(pod.spec.nodeName);
  if (!avoid.empty()) annotations[kAnnotationAvoidNodes] = fmt::format("{}", fmt::join(avoid, ","));
  // If it is on a node, it stands for a further pod like it, which cannot be watched.
  if (options.beneficiary && options.beneficiary->spec.nodeName.empty()) {
    const api::ObjectMeta& waiting = options.beneficiary->metadata;
    annotations[kAnnotationBeneficiary] =
        fmt::format("{}/{}/{}", waiting.namespace_, waiting.name, waiting.uid);
  }
  if (!group.empty()) {
    annotations[kAnnotationMoveTogether] = group;
    annotations[kAnnotationMoveTogetherSize] = std::to_string(plan.pods.size());
  }
  json::object spec{{"podRef", json::object{{"namespace", pod.metadata.namespace_},
                                            {"name", pod.metadata.name},
                                            {"uid", pod.metadata.uid}}},
                    {"mode", args_.defaultJobMode},
                    {"ttl", formatDuration(args_.defaultJobTTL)}};
  if (options.deleteOptions.is_object()) {
    spec["deleteOptions"] = options.deleteOptions;
  } else if (args_.defaultDeleteOptions.is_object()) {
    spec["deleteOptions"] = args_.defaultDeleteOptions;
  }
  return {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
          {"kind", "PodMigrationJob"},
          {"metadata", json::object{{"name", newName()}, {"annotations", std::move(annotations)}}},
          {"spec", std::move(spec)}};
}

Task<Result<std::string>> Migrator::makeJobs(Plan plan, EvictOptions options) {
  const std::string group = plan.pods.size() > 1 ? newName() : "";
  std::string first;
  for (std::size_t i = 0; i < plan.pods.size(); ++i) {
    auto creating = writer_.create(jobFor(plan, i, options, group));
    auto job = co_await creating;
    // The gang's jobs that already exist fail when the others do not appear.
    if (!job) co_return fail(std::move(job.error()).within("creating a PodMigrationJob"));
    if (first.empty()) first = (*job)->metadata.name;
  }
  co_return first;
}

// Sets the nodes that each pod of the plan avoids. Returns the reason if a pod should stay.
std::string Migrator::avoidNodes(Plan& plan) const {
  const auto counts = arriving();
  const auto broken = reservesFirst() ? futileMoves_.failedPredictions() : std::set<std::string>();
  for (const PodPtr& each : plan.pods) {
    std::set<std::string>& avoid = plan.avoid.emplace_back();
    avoid.insert(each->spec.nodeName);
    for (const auto& [node, last] : recentlyLeftNodes(*each)) {
      avoid.insert(node);
      // If nodes are equally good, the next pod might return, too.
      if (!reservesFirst() && node == each->spec.nodeName && each->metadata.creationTimestamp &&
          *each->metadata.creationTimestamp >= last)
        return fmt::format(
            "pod {} came to node {} after another pod of its workload was evicted from there",
            each->metadata.name, node);
    }
    avoid.insert(broken.begin(), broken.end());
    // Prefer other nodes while the arrival limit of these is reached.
    if (!reservesFirst() || !arrivals_.limited()) continue;
    for (const auto& [node, count] : counts)
      if (count >= args_.maxArrivingPerNode) avoid.insert(node);
  }
  return {};
}

// The pod first, and each pod with its gang.
std::vector<PodPtr> Migrator::movingTogether(const PodPtr& pod, const EvictOptions& options) const {
  std::vector<PodPtr> pods;
  const auto add = [&](const PodPtr& each) {
    const auto same = [&](const PodPtr& known) {
      return known->metadata.uid == each->metadata.uid;
    };
    if (std::ranges::none_of(pods, same)) pods.push_back(each);
  };
  const auto addGang = [&](const PodPtr& each) {
    add(each);
    for (const PodPtr& member : gangs_.membersOf(gangOf(*each))) add(member);
  };
  addGang(pod);
  for (const PodPtr& each : options.together) addGang(each);
  return pods;
}

Task<Result<Evicted>> Migrator::evict(PodPtr pod, EvictOptions options) {
  Plan plan;
  plan.pods = movingTogether(pod, options);
  auto refusing = refusal(pod, plan.pods);
  std::string why = co_await refusing;
  if (!why.empty()) co_return fail(ErrorCode::Forbidden, std::move(why));
  why = avoidNodes(plan);
  if (!why.empty()) co_return fail(ErrorCode::Forbidden, std::move(why));
  auto finding = findPlaces(&plan, &options);
  why = co_await finding;
  if (!why.empty()) co_return fail(ErrorCode::Forbidden, std::move(why));
  if (options.beneficiary) {
    auto checking = beneficiaryRefusal(&plan, options.beneficiary);
    why = co_await checking;
    if (!why.empty()) co_return fail(ErrorCode::Forbidden, std::move(why));
  }
  Evicted done{.node = plan.landing.front(),
               .job = {},
               .together = {plan.pods.begin() + 1, plan.pods.end()}};
  if (args_.dryRun || options.dryRun) {
    rememberDryRun(plan);
    co_return done;
  }
  auto making = makeJobs(std::move(plan), std::move(options));
  auto made = co_await making;
  if (!made) co_return fail(std::move(made.error()));
  done.job = *std::move(made);
  co_return done;
}

}  // namespace koord::descheduler
