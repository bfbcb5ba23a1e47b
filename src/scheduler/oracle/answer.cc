#include "scheduler/oracle/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/time.h"
#include "scheduler/oracle/existing.h"
#include "scheduler/oracle/kinds.h"
#include "scheduler/oracle/node_shape.h"
#include "scheduler/oracle/remedy.h"
#include "scheduler/plugins/reservation/reservation_object.h"

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

// Has all stored objects, but neither nodes nor pods.
Result<std::unique_ptr<Scheduler>> Answerer::emptyScheduler(const json::value& configuration) {
  SchedulerOptions options;
  options.configuration = subject_.scheduler.configuration();
  if (!configuration.is_null()) {
    auto parsed = parseConfiguration(toJson(configuration));
    if (!parsed) return fail(std::move(parsed.error()).within("spec.configuration"));
    options.configuration = *std::move(parsed);
  }
  if (!options.configuration.extenders.empty())
    return fail(ErrorCode::Invalid, "spec.configuration.extenders: a simulation calls no extender");
  auto made =
      Scheduler::create(std::move(options), subject_.registry, subject_.executor, &subject_.api);
  if (!made) return fail(std::move(made.error()).within("spec.configuration"));
  return made;
}

// The same objects in a scheduler that is built from the other configuration.
Result<std::unique_ptr<Scheduler>> Answerer::otherScheduler(const json::value& configuration) {
  auto made = emptyScheduler(configuration);
  if (!made) return made;
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
  const Scheduler& scheduler = subject_.scheduler;
  const bool fresh = question.fill || question.nodesFor;  // pods that exist do not matter
  PodExists exists = [&](const api::ObjectKey& pod) {
    return scheduler.pending(pod) || (subject_.exists && subject_.exists(pod));
  };
  if (fresh) exists = {};
  auto expansion =
      expand(question, kMaxPods, exists,
             fresh ? PodCounts() : ExistingWorkloads(question, subject_.scheduler).countPods());
  if (!expansion) return fail(std::move(expansion.error()));
  subject_.api.cut([this](const kube::Request& request) -> Result<std::string> {
    if (!serving_) return fail(ErrorCode::Unavailable, "the simulation has not begun");
    return serving_->answer(request);
  });
  if (question.nodesFor) return countNodes(question, *std::move(expansion));
  if (question.fill) return fill(question, *std::move(expansion), pods);
  if (question.when) return foretellStarts(question, *std::move(expansion), pods);
  return play(question, *std::move(expansion), pods);
}

Result<> Answerer::begin(const Question& question, Expansion expansion, const CompletePods& pods) {
  Scheduler* scheduler = &subject_.scheduler;
  if (!question.configuration.is_null()) {
    auto other = otherScheduler(question.configuration);
    if (!other) return fail(std::move(other.error()));
    scheduler->stop();
    scheduler = (other_ = *std::move(other)).get();
  }
  server_ = std::make_unique<ScratchServer>(*scheduler, subject_.executor);
  serving_ = server_.get();
  course_ = std::make_unique<Course>(*scheduler, subject_.executor, *server_);
  course_->checkpoint = checkpoint;
  if (quotasBefore_.empty()) quotasBefore_ = quotasOf(*scheduler, expansion.pods);
  nodesBefore_.emplace(scheduler->cluster(), question);
  if (auto changed = course_->change(question, std::move(expansion), pods); !changed)
    return changed;
  if (!scheduler->running()) scheduler->start();
  return {};
}

Result<json::value> Answerer::play(const Question& question, Expansion expansion,
                                   const CompletePods& pods) {
  if (auto begun = begin(question, std::move(expansion), pods); !begun)
    return fail(std::move(begun.error()));
  course_->run();
  json::object status = describe();
  const std::string like = question.addNodes.empty() ? std::string() : question.addNodes[0].like;
  addChanges(status);
  found_ = status;
  if (interim && memberOf(status, "pending") != json::value(0u))
    interim(sofar("the search for remedies took too long: there are none"));
  json::array remedies = remediesFor(*course_, like);
  if (!remedies.empty()) status.emplace("remedies", std::move(remedies));
  status["complete"] = course_->leftOut() == 0;
  return resultOf(std::move(status));
}

Result<json::value> Answerer::fill(const Question& question, Expansion expansion,
                                   const CompletePods& pods) {
  auto copy = takeCopy(expansion);
  if (!copy) return fail(std::move(copy.error()));
  if (auto begun = begin(question, std::move(expansion), pods); !begun)
    return fail(std::move(begun.error()));
  course_->run();  // the other changes come first
  quotasBefore_ = quotasOf(course_->scheduler(), copy->pods);
  filling_ = std::make_unique<Filling>(*course_, *std::move(copy), *question.fill);
  filling_->run();
  json::object status = describe();
  status["complete"] = memberOf(memberOf(status, "fill"), "full");
  return resultOf(std::move(status));
}

Result<json::value> Answerer::foretellStarts(const Question& question, Expansion expansion,
                                             const CompletePods& pods) {
  if (auto begun = begin(question, std::move(expansion), pods); !begun)
    return fail(std::move(begun.error()));
  subject_.executor.holdWall();
  starts_ = std::make_unique<Starts>(*course_, subject_.executor, *question.when, subject_.history);
  starts_->isLate = isLate;
  starts_->run();
  json::object status = describe();
  status["complete"] = starts_->isComplete();
  return resultOf(std::move(status));
}

Result<json::value> Answerer::countNodes(const Question& question, Expansion expansion) {
  const auto pattern = patternOf(*question.nodesFor, subject_.scheduler);
  if (!pattern) return fail(Error(pattern.error()));
  subject_.scheduler.stop();
  json::array notes;
  for (const std::string& note : expansion.notes) notes.push_back(json::string(note));
  NodesNeeded::Surroundings around{
      .executor = subject_.executor,
      .makeScheduler = [this, &question]() -> Result<std::unique_ptr<Scheduler>> {
        auto made = emptyScheduler(question.configuration);
        if (!made) return made;
        Stores& stores = (*made)->stores();
        copyStores(subject_.scheduler.stores(), stores);
        // Those of the cluster would take the nodes.
        for (const auto& [key, reservation] :
             subject_.scheduler.stores().of<api::Reservation>().all())
          stores.of<api::Reservation>().erase(key);
        return made;
      },
      .serve = [this](ScratchServer* server) { serving_ = server; }};
  nodesNeeded_ =
      std::make_unique<NodesNeeded>(std::move(around), question, std::move(expansion), *pattern);
  nodesNeeded_->checkpoint = checkpoint;
  if (auto run = nodesNeeded_->run(); !run) return fail(std::move(run.error()));
  json::object status = describe();
  status.emplace("notes", std::move(notes));
  status["complete"] = true;
  return resultOf(std::move(status));
}

json::object Answerer::newStatus() const {
  return {{"complete", false},
          {"state",
           json::object{{"time", formatMicroTime(since_)}, {"version", subject_.api.received()}}}};
}

json::object Answerer::describe() const {
  json::object status = newStatus();
  if (nodesNeeded_) status.emplace("nodesFor", nodesNeeded_->describe());
  if (filling_) {
    status.emplace("fill", filling_->describe());
    status.emplace("quotas",
                   quotaChanges(quotasBefore_, quotasNamed(course_->scheduler(), quotasBefore_)));
  }
  if (!course_) return status;
  addNotes(status);
  if (starts_) status.emplace("when", starts_->describe());
  if (!filling_ && !starts_) addPods(status);
  return status;
}

void Answerer::addPods(json::object& status) const {
  json::array pods, victims, others;
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
  status.emplace("placed", placed);
  status.emplace("pending", pending);
  status.emplace("notTried", notTried);
  status.emplace("pods", std::move(pods));
  status.emplace("victims", std::move(victims));
  status.emplace("others", std::move(others));
}

void Answerer::addNotes(json::object& status) const {
  json::array notes;
  for (std::size_t i = 0; i < std::min(course_->notes().size(), kMaxNotes); ++i)
    notes.push_back(json::string(course_->notes()[i]));
  if (course_->notes().size() > kMaxNotes)
    notes.push_back(json::string(
        fmt::format("{} more notes are not shown", course_->notes().size() - kMaxNotes)));
  if (course_->leftOut() > 0)
    notes.push_back(json::string(fmt::format("{} pods were not tried: a simulation has at most {}",
                                             course_->leftOut(), kMaxPods)));
  status.emplace("notes", std::move(notes));
}

// Of quotas and nodes, once the course has ended.
void Answerer::addChanges(json::object& status) const {
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
  return resultOf(withNote(describe(), why));
}

}  // namespace koord::scheduler::oracle
