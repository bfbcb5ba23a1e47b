#include "koordctl/simulate/snapshot_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/codec.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "cluster/snapshot/snapshot_reader.h"
#include "koordctl/common/active_jobs.h"
#include "koordctl/explain/layout.h"
#include "koordctl/simulate/question.h"
#include "koordctl/simulate/snapshot_api.h"
#include "model/well_known.h"
#include "scheduler/config/shipped.h"
#include "scheduler/core/informers.h"
#include "scheduler/oracle/oracle.h"
#include "scheduler/plugins/registry.h"

namespace koord::koordctl {

namespace {

constexpr std::string_view kConfigMap = "koord-scheduler-config";
// Nothing else waits for this process.
constexpr scheduler::oracle::ForkLimits kLimits{
    .time = std::chrono::seconds(60), .grace = std::chrono::seconds(60), .memory = 8ULL << 30};

using Answers = std::vector<SimulationAnswer>;
using Specs = std::vector<json::object>;

// What the questions need of the snapshot beside the scheduler's own objects.
class Contents {
 public:
  Contents(SnapshotApi& api, const Executor& clock, const Specs& specs)
      : api_(api), history_(clock) {
    for (const json::object& spec : specs) {
      for (const char* field : {"drainNodes", "loseNodes"})
        for (const json::value& node : arrayAt(spec, field))
          if (node.is_string()) left_.emplace(node.get_string());
      for (const json::value& object : arrayAt(spec, "objects"))
        if (auto key = jobIn(object)) askedJobs_.insert(*std::move(key));
      estimates_ = estimates_ || !memberOf(spec, "when").is_null();
    }
    if (!estimates_) return;
    api_.onEnded = [this](std::string_view text) {
      const auto document = parseJson(text);
      const auto pod = document ? api::decode<api::Pod>(*document) : fail(document.error());
      if (pod) history_.learn(*pod);
    };
  }

  Result<> add(std::string_view resource, std::string_view text) {
    api_.add(resource, text);
    const bool isClass = resource == "priorityclasses.scheduling.k8s.io";
    const bool isConfig = resource == "configmaps" && text.find(kConfigMap) != text.npos;
    const bool isJob = resource == "jobs.batch" && (estimates_ || !askedJobs_.empty());
    if (!isClass && !isConfig && !isJob && !(resource == "pods" && !left_.empty())) return {};
    auto object = parseJson(text);
    if (!object) return fail(std::move(object.error()).within(resource));
    if (isJob) {
      addJob(*std::move(object));
      return {};
    }
    auto added = isClass ? addClass(*object) : isConfig ? addConfig(*object) : addPod(*object);
    // The scheduler skips such objects, too.
    if (!added)
      unreadable_.push_back(fmt::format("{} {} is ignored: {}", resource,
                                        textAt(*object, "metadata", "name"),
                                        added.error().message));
    return {};
  }

  // Objects that are ignored.
  const std::vector<std::string>& unreadable() const { return unreadable_; }

  const scheduler::oracle::CompletePods& pods() const { return pods_; }
  const std::string& configuration() const { return configuration_; }

  // Of starts: what the pods that have ended say.
  const scheduler::forecast::RunHistory& history() const { return history_; }
  json::array runningJobs() const { return activeJobsIn(json::object{{"items", running_}}); }

  // If the object is a Job that the snapshot has.
  void completeJob(json::value& object) const {
    const auto key = jobIn(object);
    const auto found = key ? jobs_.find(*key) : jobs_.end();
    if (found != jobs_.end()) takeJob(object, found->second);
  }

  // Of the object's pods, as the API server's admission does.
  void setPriority(json::value& object) const {
    json::value pod = podOf(object);
    json::value* spec = find(pod, "spec");
    if (!spec || !spec->is_object() || find(*spec, "priority")) return;
    const std::string_view name = textAt(*spec, "priorityClassName");
    const auto found = name.empty() ? byDefault_ : classes_.find(name);
    if (found == classes_.end()) return;
    spec->get_object()["priorityClassName"] = found->first;
    spec->get_object()["priority"] = found->second.value;
    if (found->second.preemptionPolicy && !find(*spec, "preemptionPolicy"))
      spec->get_object()["preemptionPolicy"] = *found->second.preemptionPolicy;
    takePod(object, pod);
  }

 private:
  using Classes = std::map<std::string, api::PriorityClass, std::less<>>;

  Result<> addClass(const json::value& object) {
    auto read = api::decode<api::PriorityClass>(object);
    if (!read) return fail(std::move(read.error()));
    std::string name = read->metadata.name;
    const auto added = classes_.insert_or_assign(std::move(name), *std::move(read)).first;
    if (added->second.globalDefault) byDefault_ = added;
    return {};
  }

  void addJob(json::value job) {
    api::ObjectKey key{std::string(textAt(job, "metadata", "namespace")),
                       std::string(textAt(job, "metadata", "name"))};
    if (estimates_) running_.push_back(job);
    if (askedJobs_.contains(key)) jobs_.emplace(std::move(key), std::move(job));
  }

  Result<> addConfig(const json::value& object) {
    if (textAt(object, "metadata", "name") == kConfigMap &&
        textAt(object, "metadata", "namespace") == model::kSystemNamespace)
      configuration_ = textAt(object, "data", kConfigMap);
    return {};
  }

  Result<> addPod(const json::value& object) {
    if (!left_.contains(textAt(object, "spec", "nodeName"))) return {};
    auto pod = api::decode<api::Pod>(object);
    if (!pod) return fail(std::move(pod.error()));
    std::string uid = pod->metadata.uid;
    pods_.emplace(std::move(uid), std::make_shared<const api::Pod>(*std::move(pod)));
    return {};
  }

  SnapshotApi& api_;
  std::set<std::string, std::less<>> left_;     // nodes that are drained or lost
  scheduler::oracle::CompletePods pods_;        // on them
  std::set<api::ObjectKey> askedJobs_;          // of the question
  std::map<api::ObjectKey, json::value> jobs_;  // of these, those of the snapshot
  bool estimates_ = false;                      // starts are asked for
  json::array running_;                         // then all Jobs
  scheduler::forecast::RunHistory history_;
  Classes classes_;
  Classes::const_iterator byDefault_ = classes_.end();
  std::string configuration_;  // of the ConfigMap; "" = it does not exist
  std::vector<std::string> unreadable_;
};

// A scheduler that has read everything and has not begun to schedule.
class FileScheduler {
 public:
  FileScheduler(VirtualLoop& loop, SnapshotApi& api) : loop_(loop), seam_(loop, api) {}

  Result<> read(scheduler::SchedulerConfiguration configuration) {
    scheduler::SchedulerOptions options;
    options.configuration = std::move(configuration);
    auto made =
        scheduler::Scheduler::create(std::move(options), registry_, seam_.executor, &seam_.api);
    if (!made) return fail(std::move(made.error()));
    scheduler_ = *std::move(made);
    informers_.emplace(seam_.api, seam_.executor, *scheduler_, Random(1));
    informers_->start();
    loop_.runReady();
    if (!informers_->synced())
      return fail(ErrorCode::Internal, "the scheduler could not read the objects");
    return {};
  }

  Result<json::value> ask(const json::value& simulation,
                          const scheduler::oracle::CompletePods& pods,
                          const scheduler::forecast::RunHistory& history) {
    const auto question = scheduler::oracle::readQuestion(simulation);
    if (!question) return fail(Error(question.error()));
    const scheduler::oracle::PodExists exists = [this](const api::ObjectKey& pod) {
      return !informers_->versionOf(pod).empty();
    };
    auto child = scheduler::oracle::ask(*scheduler_, seam_, registry_, *question, pods, kLimits,
                                        exists, &history);
    if (!child) return fail(std::move(child.error()));
    const std::atomic<bool> cancelled = false;
    const auto text = scheduler::oracle::answerOf(*std::move(child), cancelled);
    if (!text) return fail(Error(text.error()));
    return parseJson(*text);
  }

 private:
  VirtualLoop& loop_;
  scheduler::oracle::Seam seam_;
  const scheduler::Registry registry_ = scheduler::makeRegistry();
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::optional<scheduler::Informers> informers_;
};

Result<scheduler::SchedulerConfiguration> configurationOf(const json::value& given,
                                                          const Contents& contents,
                                                          std::vector<std::string>& notes) {
  std::string text = contents.configuration();
  std::string source = fmt::format("ConfigMap {}/{}", model::kSystemNamespace, kConfigMap);
  if (!given.is_null()) {
    text = toJson(given);
    source = "--config";
  } else if (text.empty()) {
    text = scheduler::shippedConfiguration({"default-scheduler", "koord-scheduler"},
                                           scheduler::Shipped::Recommended);
    notes.push_back(
        "the snapshot has no configuration of koord-scheduler: the recommended one is used; "
        "--config gives another");
  }
  auto configuration = scheduler::parseConfiguration(text);
  if (!configuration) return fail(std::move(configuration.error()).within(source));
  if (!std::exchange(configuration->extenders, {}).empty())
    notes.push_back(source + ": HTTP extenders are not asked");
  return configuration;
}

// The objects of a file, and when it was written.
struct Snapshot {
  std::string source;
  std::optional<VirtualLoop> loop;
  std::optional<SnapshotApi> api;
  std::optional<Contents> contents;

  void begin(WallTime time, const Specs& specs) {
    loop.emplace(time);
    api.emplace(*loop);
    contents.emplace(*api, *loop, specs);
  }
};

Result<> readInto(Snapshot& snapshot, const Specs& specs) {
  cluster::SnapshotVisitor visitor;
  visitor.header = [&](const cluster::SnapshotHeader& header) -> Result<> {
    const auto taken = parseTime(header.createdAt);
    if (!taken) return fail(Error(taken.error()).within(snapshot.source + ": createdAt"));
    snapshot.begin(*taken, specs);
    return {};
  };
  visitor.object = [&](std::string_view resource, std::string_view text) -> Result<> {
    auto added = snapshot.contents->add(resource, text);
    return added ? added : fail(std::move(added.error()).within(snapshot.source));
  };
  auto read = cluster::readSnapshot(snapshot.source, visitor);
  if (!read) return fail(std::move(read.error()));
  return {};
}

Result<Answers> simulateOn(Snapshot& snapshot, Specs specs) {
  std::vector<std::string> notes;
  json::value given;
  for (json::object& spec : specs)
    if (json::value* found = spec.if_contains("configuration"))
      given = std::exchange(*found, nullptr);
  auto configuration = configurationOf(given, *snapshot.contents, notes);
  if (!configuration) return fail(std::move(configuration.error()));
  FileScheduler reader(*snapshot.loop, *snapshot.api);
  if (auto read = reader.read(*std::move(configuration)); !read)
    return fail(std::move(read.error()).within(snapshot.source));
  snapshot.api->clear();
  const Contents& contents = *snapshot.contents;
  std::ranges::copy(contents.unreadable(), std::back_inserter(notes));
  notes.emplace_back(
      "a snapshot has no webhooks: pods are taken as the files have them, with the priorities of "
      "their classes");
  Answers answers;
  for (json::object& spec : specs) {
    if (json::value* objects = spec.if_contains("objects"))
      for (json::value& object : objects->get_array()) {
        contents.setPriority(object);
        contents.completeJob(object);
      }
    if (json::value* when = spec.if_contains("when"); when && when->is_object())
      when->get_object().insert_or_assign("jobs", contents.runningJobs());
    auto result = reader.ask(scheduler::oracle::simulationOf(std::move(spec)), contents.pods(),
                             contents.history());
    if (!result) return fail(std::move(result.error()));
    answers.push_back({*std::move(result), notes});
  }
  return answers;
}

}  // namespace

Result<std::vector<SimulationAnswer>> simulateOnSnapshot(const std::string& file,
                                                         std::vector<json::object> specs) {
  Snapshot snapshot{.source = file};
  if (auto read = readInto(snapshot, specs); !read) return fail(std::move(read.error()));
  return simulateOn(snapshot, std::move(specs));
}

Result<std::vector<SimulationAnswer>> simulateOnNothing(std::vector<json::object> specs) {
  Snapshot snapshot{.source = "--no-cluster"};
  snapshot.begin(std::chrono::system_clock::now(), specs);
  return simulateOn(snapshot, std::move(specs));
}

}  // namespace koord::koordctl
