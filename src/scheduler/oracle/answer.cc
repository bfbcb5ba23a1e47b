#include "scheduler/oracle/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/time.h"
#include "scheduler/oracle/existing.h"
#include "scheduler/oracle/kinds.h"
#include "scheduler/oracle/remedy.h"

namespace koord::scheduler::oracle {

namespace {

constexpr std::size_t kMaxNotes = 100;

const char* nameOf(FollowedPod::State state) {
  switch (state) {
    case FollowedPod::State::Placed:
      return "placed";
    case FollowedPod::State::Pending:
      return "pending";
    case FollowedPod::State::NotRecreated:
      return "notRecreated";
    default:
      return "notTried";
  }
}

json::object podJson(const FollowedPod& pod) {
  json::object out{{"namespace", pod.key.namespace_}, {"name", pod.key.name}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) out.emplace(name, text);
  };
  add("of", pod.of);
  add("from", pod.from);
  out.emplace("state", nameOf(pod.state));
  add("node", pod.node);
  add("nominatedNode", pod.nominated);
  if (pod.attempts > 1) {
    out.emplace("attempts", pod.attempts);
    json::object first;
    if (!pod.firstNode.empty()) first.emplace("node", pod.firstNode);
    if (!pod.firstNominated.empty()) first.emplace("nominatedNode", pod.firstNominated);
    out.emplace("firstAttempt", std::move(first));
  }
  add("message", pod.message);
  return out;
}

json::object victimJson(const Departure& victim) {
  return {{"namespace", victim.key.namespace_},
          {"name", victim.key.name},
          {"node", victim.node},
          {"priority", victim.priority},
          {"preemptor", victim.preemptor.toString()},
          {"preemptorPriority", victim.preemptorPriority},
          {"plugin", victim.plugin}};
}

json::value resultOf(json::object status) {
  return json::object{{"apiVersion", kSimulationVersion},
                      {"kind", "SimulationResult"},
                      {"status", std::move(status)}};
}

json::object withNote(json::object status, const std::string& note) {
  json::value& notes = status["notes"];
  if (!notes.is_array()) notes = json::array();
  notes.get_array().push_back(json::string(note));
  return status;
}

// Pods that have no node, in the order in which they came into the queue.
std::vector<PodPtr> waitingPods(const Scheduler& scheduler) {
  std::vector<std::tuple<WallTime, api::ObjectKey, PodPtr>> inOrder;
  for (const auto& [uid, pod] : scheduler.pendingPods()) {
    if (pod->kind || scheduler.cluster().findPod(uid)) continue;
    const QueuedPod* queued = scheduler.queue().find(uid);
    inOrder.emplace_back(queued ? queued->timestamp : WallTime::min(),
                         api::keyOf(pod->pod->metadata), pod);
  }
  std::ranges::sort(inOrder);
  std::vector<PodPtr> pods;
  for (auto& [since, key, pod] : inOrder) pods.push_back(std::move(pod));
  return pods;
}

}  // namespace

// The same objects in a scheduler that is built from the other configuration.
Result<std::unique_ptr<Scheduler>> Answerer::otherScheduler(const json::value& configuration) {
  auto parsed = parseConfiguration(toJson(configuration));
  if (!parsed) return fail(std::move(parsed.error()).within("spec.configuration"));
  SchedulerOptions options;
  options.configuration = *std::move(parsed);
  if (!options.configuration.extenders.empty())
    return fail(ErrorCode::Invalid, "spec.configuration.extenders: a simulation calls no extender");
  auto made =
      Scheduler::create(std::move(options), subject_.registry, subject_.executor, &subject_.api);
  if (!made) return fail(std::move(made.error()).within("spec.configuration"));
  Scheduler& now = subject_.scheduler;
  Scheduler& other = **made;
  const Cluster& cluster = now.cluster();
  cluster.live().forEach([&](NodeId node) {
    if (cluster.node(node).object) other.nodeAdded(cluster.node(node).object);
  });
  copyStores(now.stores(), other.stores());
  for (const auto& record : cluster.pods()) {
    if (record.info->kind) continue;  // the plugin makes it from its object
    const bool named = !record.info->pod->spec.nodeName.empty();
    other.podAdded(named ? record.info->pod
                         : placedOn(*record.info, cluster.node(record.node).name)->pod);
  }
  for (const PodPtr& pod : waitingPods(now)) other.podAdded(pod->pod);
  return made;
}

Result<json::value> Answerer::answer(const Question& question, const CompletePods& pods) {
  since_ = subject_.executor.wallNow();
  if (interim) interim(sofar("the simulation took too long to begin"));
  Scheduler* scheduler = &subject_.scheduler;
  const auto exists = [&](const api::ObjectKey& pod) {
    return scheduler->pending(pod) || (subject_.exists && subject_.exists(pod));
  };
  auto expansion =
      expand(question, kMaxPods, exists, ExistingWorkloads(question, *scheduler).countPods());
  if (!expansion) return fail(std::move(expansion.error()));
  subject_.api.cut([this](const kube::Request& request) -> Result<std::string> {
    if (!server_) return fail(ErrorCode::Unavailable, "the simulation has not begun");
    return server_->answer(request);
  });
  if (!question.configuration.is_null()) {
    auto other = otherScheduler(question.configuration);
    if (!other) return fail(std::move(other.error()));
    scheduler->stop();
    scheduler = (other_ = *std::move(other)).get();
  }
  server_ = std::make_unique<ScratchServer>(*scheduler, subject_.executor);
  course_ = std::make_unique<Course>(*scheduler, subject_.executor, *server_);
  course_->checkpoint = checkpoint;
  quotasBefore_ = quotasOf(*scheduler, expansion->pods);
  nodesBefore_.emplace(scheduler->cluster(), question);
  if (auto changed = course_->change(question, *std::move(expansion), pods); !changed)
    return fail(std::move(changed.error()));
  if (!scheduler->running()) scheduler->start();
  course_->run();
  json::object status = describe();
  const std::string like = question.addNodes.empty() ? std::string() : question.addNodes[0].like;
  addChanges(question, status);
  found_ = status;
  if (interim && memberOf(status, "pending") != json::value(0u))
    interim(sofar("the search for remedies took too long: there are none"));
  json::array remedies = remediesFor(*course_, like);
  if (!remedies.empty()) status.emplace("remedies", std::move(remedies));
  status["complete"] = course_->leftOut() == 0;
  return resultOf(std::move(status));
}

json::object Answerer::newStatus() const {
  return {{"complete", false},
          {"state",
           json::object{{"time", formatMicroTime(since_)}, {"version", subject_.api.received()}}}};
}

json::object Answerer::describe() const {
  json::object status = newStatus();
  json::array pods, victims, others, notes;
  std::uint64_t placed = 0, pending = 0, notTried = course_->leftOut();
  for (const FollowedPod& pod : course_->pods()) {
    pods.push_back(podJson(pod));
    placed += pod.state == FollowedPod::State::Placed;
    pending += pod.state == FollowedPod::State::Pending;
    notTried += pod.state == FollowedPod::State::NotTried;
  }
  for (const Departure& victim : course_->departures()) victims.push_back(victimJson(victim));
  for (const FollowedPod& other : course_->others())
    others.push_back(json::object{
        {"namespace", other.key.namespace_}, {"name", other.key.name}, {"node", other.node}});
  for (std::size_t i = 0; i < std::min(course_->notes().size(), kMaxNotes); ++i)
    notes.push_back(json::string(course_->notes()[i]));
  if (course_->notes().size() > kMaxNotes)
    notes.push_back(json::string(
        fmt::format("{} more notes are not shown", course_->notes().size() - kMaxNotes)));
  if (course_->leftOut() > 0)
    notes.push_back(json::string(fmt::format("{} pods were not tried: a simulation has at most {}",
                                             course_->leftOut(), kMaxPods)));
  status.emplace("placed", placed);
  status.emplace("pending", pending);
  status.emplace("notTried", notTried);
  status.emplace("pods", std::move(pods));
  status.emplace("victims", std::move(victims));
  status.emplace("others", std::move(others));
  status.emplace("notes", std::move(notes));
  return status;
}

// Of quotas and nodes, once the course has ended.
void Answerer::addChanges(const Question& question, json::object& status) const {
  Scheduler& scheduler = course_->scheduler();
  status.emplace("quotas", quotaChanges(quotasBefore_, quotasNamed(scheduler, quotasBefore_)));
  NodeChanges changes = nodesBefore_->changes(scheduler.cluster());
  status.emplace("nodes", std::move(changes.nodes));
  if (changes.others == 0) return;
  status = withNote(std::move(status),
                    fmt::format("{} more nodes differ and are not listed", changes.others));
}

json::value Answerer::sofar(const std::string& why) const {
  if (!found_.empty()) return resultOf(withNote(found_, why));
  return resultOf(withNote(course_ ? describe() : newStatus(), why));
}

}  // namespace koord::scheduler::oracle
