#include "manager/recommender/controller.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"
#include "manager/common/names.h"
#include "manager/recommender/status.h"
#include "manager/recommender/usage_share.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr Duration kCheckInterval = 1min;
constexpr Duration kSaveInterval = 10min;
constexpr Duration kForgetPods = 48h;
constexpr Duration kForgetContainers = 8 * 24h;
// The API server accepts 256 KiB of annotations; pods beyond this number get one more peak after a
// restart.
constexpr std::size_t kMaxSavedWindows = 1000;

// Reads a Recommendation's saved models, {"until": TIME, "containers": {NAME: MODEL}}, and the
// day's peaks of its pods, "windows".
Result<> readSaved(const api::Recommendation& object, std::map<std::string, ContainerModel>& models,
                   WallTime& until) {
  const auto* text = api::findIn(object.metadata.annotations, kAnnotationCheckpoint);
  if (!text) return {};
  const std::string field = fmt::format("metadata.annotations[{}]", kAnnotationCheckpoint);
  const auto document = parseJson(*text);
  if (!document) return fail(Error(document.error()).within(field));
  const auto time = parseTime(textAt(*document, "until"));
  const auto* containers = find(*document, "containers");
  if (!time || !containers || !containers->is_object())
    return fail(ErrorCode::Invalid, field + ": until or containers is missing");
  for (const auto& [name, saved] : containers->get_object()) {
    auto model = ContainerModel::load(saved);
    if (!model)
      return fail(std::move(model.error())
                      .within(fmt::format("{}.containers[{}]", field, std::string_view(name))));
    models.insert_or_assign(std::string(name), *std::move(model));
  }
  until = *time;
  return {};
}

}  // namespace

RecommenderController::RecommenderController(kube::Api& api, Executor& executor,
                                             kube::Informer<api::Pod>& pods,
                                             kube::Informer<api::NodeMetric>& nodeMetrics,
                                             Metrics& metrics, Random random)
    : api_(api),
      executor_(executor),
      pods_(pods),
      nodeMetrics_(nodeMetrics),
      recommendations_(api, executor, {}, random.fork()),
      replicaSets_(api, executor, {}, random.fork()),
      jobs_(api, executor, {}, random.fork()),
      owners_([this](std::string_view kind, std::string_view ns, std::string_view name) {
        return ownersOf(kind, ns, name);
      }),
      queue_(
          executor, "recommender", [this](std::string key) { return reconcile(std::move(key)); },
          metrics.client()) {
  // Only the owners of these objects are used.
  replicaSets_.setTransform([](api::ReplicaSet& set) { set.spec = {}; });
  jobs_.setTransform([](api::Job& job) { job.spec = {}; });
  recommendations_.addHandler({[this](const auto& object) { take(object); },
                               [this](const auto&, const auto& object) { take(object); },
                               [this](const auto& object) {
                                 records_.erase(api::keyOf(object->metadata));
                                 forgetWindows(api::keyOf(object->metadata));
                               }});
  nodeMetrics_.addHandler({[this](const auto& metric) { addReport(*metric); },
                           [this](const auto&, const auto& metric) { addReport(*metric); },
                           [this](const auto& metric) { reported_.erase(metric->metadata.name); }});
  pods_.addHandler({[this](const auto& pod) { addKills(*pod); },
                    [this](const auto&, const auto& pod) { addKills(*pod); }, nullptr});
  pods_.onSynced([this] { startWhenSynced(); });
  nodeMetrics_.onSynced([this] { startWhenSynced(); });
  recommendations_.onSynced([this] { startWhenSynced(); });
  replicaSets_.onSynced([this] { startWhenSynced(); });
  jobs_.onSynced([this] { startWhenSynced(); });
}

RecommenderController::~RecommenderController() {
  executor_.cancel(timer_);
}

void RecommenderController::start() {
  recommendations_.start();
  replicaSets_.start();
  jobs_.start();
}

void RecommenderController::startWhenSynced() {
  if (ready_ || !pods_.synced() || !nodeMetrics_.synced() || !recommendations_.synced() ||
      !replicaSets_.synced() || !jobs_.synced())
    return;
  ready_ = true;
  for (const auto& metric : nodeMetrics_.objects()) addReport(*metric);
  for (const auto& pod : pods_.objects()) addKills(*pod);
  queue_.start();
  look();
}

void RecommenderController::take(const RecommendationPtr& recommendation) {
  const api::ObjectKey key = api::keyOf(recommendation->metadata);
  auto pods = RecommendationPods::compile(recommendation->spec);
  auto known = records_.find(key);
  // Another object of the same name, or another target, starts with new models.
  const bool same = known != records_.end() &&
                    known->second.object->metadata.uid == recommendation->metadata.uid &&
                    api::encode(known->second.object->spec) == api::encode(recommendation->spec);
  if (same) {
    known->second.object = recommendation;
    return;
  }
  const bool retargeted =
      known != records_.end() && known->second.object->metadata.uid == recommendation->metadata.uid;
  Record record{recommendation, std::move(pods), {}, {}, executor_.steadyNow(), false};
  // The peaks of the old models are not in the new ones.
  forgetWindows(key);
  if (!retargeted) {
    if (auto read = readSaved(*recommendation, record.models, record.known); !read) {
      log::warn("Recommendation {}: {}; its model starts again", key.toString(),
                read.error().message);
      record.models.clear();
    } else {
      readWindows(*recommendation);
    }
  }
  records_.insert_or_assign(key, std::move(record));
  queue_.add(key.toString());
}

const api::List<api::OwnerReference>* RecommenderController::ownersOf(std::string_view kind,
                                                                      std::string_view namespace_,
                                                                      std::string_view name) const {
  const api::ObjectKey key{std::string(namespace_), std::string(name)};
  if (kind == api::ReplicaSet::kType.kind) {
    const auto set = replicaSets_.get(key);
    return set ? &set->metadata.ownerReferences : nullptr;
  }
  if (kind != api::Job::kType.kind) return nullptr;
  const auto job = jobs_.get(key);
  return job ? &job->metadata.ownerReferences : nullptr;
}

template <class Visit>
void RecommenderController::forEachRecordOf(const api::Pod& pod, Visit visit) {
  const std::string& ns = pod.metadata.namespace_;
  for (auto it = records_.lower_bound({ns, ""}); it != records_.end(); ++it) {
    auto& [key, record] = *it;
    if (key.namespace_ != ns) break;
    if (record.pods && record.pods->includes(pod, owners_)) visit(key, record);
  }
}

MemoryWindow& RecommenderController::windowOf(const api::ObjectKey& recommendation,
                                              const api::Pod& pod, const std::string& container) {
  auto& windows = windows_[fmt::format("{}/{}", recommendation.toString(), pod.metadata.uid)];
  windows.seen = executor_.wallNow();
  return windows.byContainer[container];
}

void RecommenderController::forgetWindows(const api::ObjectKey& key) {
  const std::string prefix = key.toString() + "/";
  auto it = windows_.lower_bound(prefix);
  while (it != windows_.end() && it->first.starts_with(prefix)) it = windows_.erase(it);
}

json::object RecommenderController::savedWindows(const api::ObjectKey& key) const {
  const std::string prefix = key.toString() + "/";
  const WallTime now = executor_.wallNow();
  json::object saved;
  std::size_t count = 0;
  for (auto it = windows_.lower_bound(prefix);
       it != windows_.end() && it->first.starts_with(prefix); ++it) {
    json::object containers;
    for (const auto& [name, window] : it->second.byContainer)
      if (window.peak > 0 && window.ends > now && ++count <= kMaxSavedWindows)
        containers.emplace(name, window.save());
    if (!containers.empty()) saved.emplace(it->first.substr(prefix.size()), std::move(containers));
  }
  return saved;
}

// Without the windows the day's peaks would be added a second time.
void RecommenderController::readWindows(const api::Recommendation& object) {
  const api::ObjectKey key = api::keyOf(object.metadata);
  const auto* text = api::findIn(object.metadata.annotations, kAnnotationCheckpoint);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  const auto* pods = document ? find(*document, "windows") : nullptr;
  if (!pods || !pods->is_object()) return;
  const WallTime now = executor_.wallNow();
  for (const auto& [uid, containers] : pods->get_object()) {
    if (!containers.is_object()) continue;
    PodWindows& windows = windows_[fmt::format("{}/{}", key.toString(), std::string_view(uid))];
    windows.seen = now;
    for (const auto& [name, saved] : containers.get_object())
      if (const auto window = MemoryWindow::load(saved, now))
        windows.byContainer[std::string(name)] = *window;
  }
}

void RecommenderController::addReport(const api::NodeMetric& metric) {
  if (!ready_ || !metric.status.updateTime) return;
  const WallTime time = *metric.status.updateTime;
  WallTime& reported = reported_[metric.metadata.name];
  if (time <= reported) return;
  reported = time;
  for (const auto& info : metric.status.podsMetric) {
    const auto pod = pods_.get({info.namespace_, info.name});
    if (!pod) continue;
    forEachRecordOf(*pod, [&](const api::ObjectKey& key, Record& record) {
      if (time <= record.known) return;
      for (const auto& used : shareUsage(*pod, info.podUsage.resources))
        record.models[used.name].add(used.cores, used.bytes, time, windowOf(key, *pod, used.name));
      record.unsaved = true;
    });
  }
}

void RecommenderController::addKills(const api::Pod& pod) {
  if (!ready_) return;
  for (const auto& status : pod.status.containerStatuses) {
    const auto& last = status.lastState.terminated;
    if (!last || last->reason != "OOMKilled" || !last->finishedAt) continue;
    const WallTime when = *last->finishedAt;
    double asked = 0;
    for (const auto& container : pod.spec.containers)
      if (container.name == status.name) asked = requestedAmount(container, model::kMemory);
    forEachRecordOf(pod, [&](const api::ObjectKey& key, Record& record) {
      MemoryWindow& window = windowOf(key, pod, status.name);
      auto& killed =
          windows_[fmt::format("{}/{}", key.toString(), pod.metadata.uid)].killed[status.name];
      if (when <= killed || when <= record.known) return;
      killed = when;
      record.models[status.name].addOutOfMemory(asked, when, window);
      record.unsaved = true;
    });
  }
}

void RecommenderController::look() {
  const WallTime now = executor_.wallNow();
  std::erase_if(windows_, [&](const auto& entry) { return now - entry.second.seen > kForgetPods; });
  for (auto& [key, record] : records_) {
    std::erase_if(record.models, [&](const auto& entry) {
      return !entry.second.empty() && now - entry.second.lastSample() > kForgetContainers;
    });
    queue_.add(key.toString());
  }
  timer_ = executor_.runAfter(kCheckInterval, [this] { look(); });
}

std::size_t RecommenderController::countPods(const Record& record) const {
  if (!record.pods) return 0;
  std::size_t count = 0;
  for (const auto& pod : pods_.objects())
    count += pod->metadata.namespace_ == record.object->metadata.namespace_ &&
             pod->status.phase != "Succeeded" && pod->status.phase != "Failed" &&
             record.pods->includes(*pod, owners_);
  return count;
}

api::RecommendationStatus RecommenderController::statusOf(const Record& record) const {
  RecommendationFacts facts;
  facts.now = executor_.wallNow();
  facts.generation = record.object->metadata.generation;
  facts.pods = countPods(record);
  if (!record.pods) facts.problem = record.pods.error().message;
  for (const auto& [name, model] : record.models)
    if (!model.empty()) facts.models.emplace(name, &model);
  return recommendationStatus(facts, record.object->status);
}

Task<Result<>> RecommenderController::reconcile(std::string key) {
  const auto slash = key.find('/');
  const api::ObjectKey name{key.substr(0, slash), key.substr(slash + 1)};
  const auto found = records_.find(name);
  if (found == records_.end()) co_return Result<>();
  const api::RecommendationStatus status = statusOf(found->second);
  if (differsEnough(found->second.object->status, status)) {
    json::value patch = json::object{{"status", api::encode(status)}};
    // Merge patches remove absent fields only by null.
    if (!status.podStatus) patch.get_object()["status"].get_object()["podStatus"] = nullptr;
    auto writing = kube::patchOnly(api_, api::Recommendation::kType, name, kube::PatchType::Merge,
                                   std::move(patch), "status");
    const Result<> written = co_await writing;
    if (!written && written.error().code == ErrorCode::NotFound) co_return Result<>();
    if (!written) co_return written;
  }
  auto saving = save(name);
  const Result<> saved = co_await saving;
  co_return saved;
}

Task<Result<>> RecommenderController::save(api::ObjectKey key) {
  const auto found = records_.find(key);
  if (found == records_.end()) co_return Result<>();
  Record& record = found->second;
  const SteadyTime now = executor_.steadyNow();
  if (!record.unsaved || now - record.saved < kSaveInterval) co_return Result<>();
  json::object containers;
  for (const auto& [name, model] : record.models) containers.emplace(name, model.save());
  const std::string text = toJson(json::object{{"until", formatTime(executor_.wallNow())},
                                               {"containers", std::move(containers)},
                                               {"windows", savedWindows(key)}});
  json::object annotations;
  annotations[kAnnotationCheckpoint] = text;
  json::value patch =
      json::object{{"metadata", json::object{{"annotations", std::move(annotations)}}}};
  const SteadyTime savedBefore = std::exchange(record.saved, now);
  record.unsaved = false;
  auto writing = kube::patchOnly(api_, api::Recommendation::kType, key, kube::PatchType::Merge,
                                 std::move(patch));
  const Result<> written = co_await writing;
  if (written) co_return Result<>();
  // Marks it as not saved, if it still exists.
  if (const auto again = records_.find(key); again != records_.end()) {
    again->second.saved = savedBefore;
    again->second.unsaved = true;
  }
  if (written.error().code == ErrorCode::NotFound) co_return Result<>();
  co_return written;
}

Result<json::value> RecommenderController::explain(const api::ObjectKey& key) const {
  const auto found = records_.find(key);
  if (found == records_.end())
    return fail(ErrorCode::NotFound,
                fmt::format("Recommendation {} does not exist", key.toString()));
  const Record& record = found->second;
  std::map<std::string, const ContainerModel*> models;
  for (const auto& [name, model] : record.models)
    if (!model.empty()) models.emplace(name, &model);
  json::value answer = explainRecommendation(*record.object, models);
  json::object& members = answer.get_object();
  members["pods"] = countPods(record);
  if (!record.pods) members["problem"] = record.pods.error().message;
  json::object requests;
  for (const auto& pod : pods_.objects()) {
    if (!record.pods || pod->metadata.namespace_ != key.namespace_ ||
        !record.pods->includes(*pod, owners_))
      continue;
    for (const auto& container : pod->spec.containers)
      requests[container.name] =
          json::object{{"cpu", requestedAmount(container, model::kCpu)},
                       {"memory", requestedAmount(container, model::kMemory)}};
  }
  members["requests"] = std::move(requests);
  return answer;
}

}  // namespace koord::manager
