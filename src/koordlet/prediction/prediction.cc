#include "koordlet/prediction/prediction.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "koordlet/system/small_file.h"
#include "model/node_names.h"
#include "model/pod_requests.h"
#include "model/resources.h"
#include "model/well_known.h"

// Every minute each pod's model gets the 90th percentile of the pod's last minute, so that one busy
// second in a minute is not a peak. The models of the priority classes get the sums of their pods,
// and the system's gets the node's usage minus that of its pods. Without a measurement of the node
// the system's model gets nothing: a sample of zero would distort it for weeks.
//
// Cost: a few microseconds per pod and minute, 3 KiB per model.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using prediction::Amount;
using prediction::Forecast;
using prediction::Model;
using prediction::PodDemand;

constexpr Duration kStep = 1min;
constexpr std::string_view kTemporarySuffix = ".tmp";
using model::kAnnotationRawAllocatable;

struct Use {
  double cores = 0;
  double bytes = 0;
};

std::optional<Use> useOf(const MetricCache& cache, Metric cpu, Metric memory,
                         std::string_view subject, WallTime from, WallTime to) {
  const auto cores = cache.aggregates(cpu, subject, from, to);
  const auto bytes = cache.aggregates(memory, subject, from, to);
  if (!cores || !bytes) return std::nullopt;
  return Use{cores->aggregates.p90, bytes->aggregates.p90};
}

Amount amountIn(const api::ResourceList& list) {
  return {model::amountOf(list, model::kCpu).milliValue(),
          model::amountOf(list, model::kMemory).value()};
}

Amount allocatableOf(const api::Node& node) {
  const Amount now = amountIn(node.status.allocatable);
  const auto* text = api::findIn(node.metadata.annotations, kAnnotationRawAllocatable);
  if (!text) return now;
  const auto document = parseJson(*text);
  const auto read = [&](std::string_view name, std::int64_t otherwise, bool milli) {
    const auto quantity =
        document ? Quantity::parse(textAt(*document, name)) : Result<Quantity>(fail({}));
    if (!quantity) return otherwise;
    return milli ? quantity->milliValue() : quantity->value();
  };
  return {read("cpu", now.milli, true), read("memory", now.bytes, false)};
}

PodDemand demandOf(const PodView& view, Amount request, WallTime now) {
  const api::Pod& pod = *view.pod;
  return {view.uid(), model::priorityClassWithDefault(pod), request,
          pod.metadata.creationTimestamp ? now - *pod.metadata.creationTimestamp : Duration::max(),
          pod.metadata.deletionTimestamp || !view.active()};
}

}  // namespace

Prediction::Prediction(Executor& executor, const States& states, const MetricCache& cache,
                       Metrics& metrics, PredictionOptions options)
    : executor_(executor),
      states_(states),
      cache_(cache),
      metrics_(metrics),
      options_(std::move(options)) {}

void Prediction::start() {
  tasks_.spawn(loop());
}

Task<void> Prediction::loop() {
  // Wait for the pods, to know which files belong to removed pods.
  while (!states_.podsSynced() || !states_.node()) {
    auto wait = sleepFor(executor_, 1s);
    co_await wait;
  }
  restore();
  SteadyTime trained = executor_.steadyNow();
  SteadyTime stepped = trained;
  for (;;) {
    const SteadyTime next =
        std::min(trained + std::max<Duration>(options_.trainingInterval, 1s), stepped + kStep);
    auto pause = sleepUntil(executor_, next);
    co_await pause;
    const SteadyTime now = executor_.steadyNow();
    if (now - trained >= options_.trainingInterval) {
      train();
      trained = now;
    }
    if (now - stepped >= kStep) {
      collectGarbage();
      save();
      stepped = now;
    }
  }
}

void Prediction::learn(const std::string& key, double cores, double bytes) {
  auto found = models_.find(key);
  if (found == models_.end()) found = models_.emplace(key, Model(options_.halfLives)).first;
  found->second.add(cores, bytes, executor_.wallNow());
  found->second.learnt = executor_.steadyNow();
}

void Prediction::train() {
  const WallTime now = executor_.wallNow();
  const WallTime from = now - options_.trainingInterval;
  Use all;
  std::map<model::PriorityClass, Use> classes;
  for (const auto& view : states_.pods()) {
    const auto use = useOf(cache_, Metric::PodCpu, Metric::PodMemory, view.uid(), from, now);
    if (!use) continue;
    learn(view.uid(), use->cores, use->bytes);
    for (auto* sum : {&all, &classes[model::priorityClassWithDefault(*view.pod)]}) {
      sum->cores += use->cores;
      sum->bytes += use->bytes;
    }
  }
  for (const auto priorityClass : prediction::kPriorityClasses) {
    const Use& use = classes[priorityClass];
    learn(prediction::keyOf(priorityClass), use.cores, use.bytes);
  }
  const auto node = useOf(cache_, Metric::NodeCpu, Metric::NodeMemory, "", from, now);
  if (!node) return;
  learn(std::string(prediction::kNodeKey), node->cores, node->bytes);
  learn(std::string(prediction::kSystemKey), std::max(node->cores - all.cores, 0.0),
        std::max(node->bytes - all.bytes, 0.0));
}

Result<Forecast> Prediction::predict() const {
  const auto& node = states_.node();
  if (!node) return fail(ErrorCode::NotFound, "the Node object is not known yet");
  const Amount allocatable = allocatableOf(*node);
  if (requestsFor_ != states_.versions().pods) {
    requestsFor_ = states_.versions().pods;
    requests_.clear();
    requests_.reserve(states_.pods().size());
    for (const auto& view : states_.pods())
      requests_.push_back(amountIn(model::podRequests(*view.pod)));
  }
  std::vector<PodDemand> pods;
  pods.reserve(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i)
    pods.push_back(demandOf(states_.pods()[i], requests_[i], executor_.wallNow()));
  const prediction::PeakOf peakOf = [this](std::string_view key) -> std::optional<Amount> {
    const auto found = models_.find(key);
    if (found == models_.end()) return std::nullopt;
    return found->second.peak();
  };
  const Forecast byPod = forecastByPod(pods, peakOf, options_.reclaim, allocatable);
  const auto byClass = forecastByClass(pods, peakOf, options_.reclaim, allocatable);
  if (!byClass) return fail(byClass.error());
  const Forecast least = prediction::leastOf(byPod, *byClass);
  const auto publish = [&](const char* name, const Forecast& forecast) {
    metrics_.predicted(name, {static_cast<double>(forecast.reclaimable.milli) / 1000,
                              static_cast<double>(forecast.reclaimable.bytes),
                              static_cast<double>(forecast.peak.milli) / 1000,
                              static_cast<double>(forecast.peak.bytes)});
  };
  publish("podReclaimablePredictor", byPod);
  publish("priorityReclaimablePredictor", *byClass);
  publish("minPredictor", least);
  return least;
}

Result<Forecast> Prediction::prod() const {
  auto forecast = predict();
  const Amount reclaimable = forecast ? forecast->reclaimable : Amount{};
  metrics_.prodReclaimable(forecast.has_value(), static_cast<double>(reclaimable.milli) / 1000,
                           static_cast<double>(reclaimable.bytes));
  return forecast;
}

std::string Prediction::fileOf(std::string_view key) const {
  return fmt::format("{}/{}", options_.directory, key);
}

void Prediction::restoreFile(const std::string& name, const std::set<std::string>& known) {
  const std::string path = fileOf(name);
  std::string why = name.ends_with(kTemporarySuffix) ? "incomplete" : "";
  if (why.empty() && !known.contains(name)) why = "its pod is not on this node";
  if (why.empty()) {
    const auto text = readFile(path);
    const auto document = text ? parseJson(*text) : Result<json::value>(fail(text.error()));
    auto model = document ? Model::load(*document, options_.halfLives)
                          : Result<Model>(fail(document.error()));
    if (!model) {
      why = model.error().message;
    } else if (executor_.wallNow() - model->updated > options_.expiry) {
      why = "too old";
    } else {
      model->learnt = executor_.steadyNow();
      models_.insert_or_assign(name, *std::move(model));
      return;
    }
  }
  log::info("deleted the model {}: {}", path, why);
  ::unlink(path.c_str());
}

void Prediction::restore() {
  if (auto made = makeDirs(options_.directory, 0755); !made)
    log::warn("models are not kept over restarts: {}", made.error().message);
  std::set<std::string> known = {std::string(prediction::kNodeKey),
                                 std::string(prediction::kSystemKey)};
  for (const auto priorityClass : prediction::kPriorityClasses)
    known.insert(prediction::keyOf(priorityClass));
  for (const auto& view : states_.pods()) known.insert(view.uid());
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory, error))
    if (entry.is_regular_file(error)) names.push_back(entry.path().filename());
  for (const auto& name : names) restoreFile(name, known);
}

void Prediction::save() {
  const SteadyTime now = executor_.steadyNow();
  std::vector<std::pair<std::optional<SteadyTime>, std::string>> oldest;
  for (const auto& [key, model] : models_)
    if (!model.saved || now - *model.saved >= options_.saveInterval)
      oldest.emplace_back(model.saved, key);
  std::ranges::sort(oldest);
  if (std::ssize(oldest) > options_.savesPerStep)
    oldest.resize(static_cast<std::size_t>(std::max<std::int64_t>(options_.savesPerStep, 0)));
  std::string problem;
  for (const auto& [saved, key] : oldest) {
    // Uids become file names; a uid that leads out of the directory is not saved.
    if (key.find('/') != std::string::npos || key.starts_with('.')) continue;
    Model& model = models_.find(key)->second;
    const auto written =
        replaceFile(fileOf(key), toJson(model.save(key, executor_.wallNow())) + "\n");
    if (!written) problem = written.error().message;
    model.saved = now;
  }
  if (!problem.empty() && saveProblem_.empty()) log::warn("cannot write the model: {}", problem);
  if (!oldest.empty()) saveProblem_ = problem;
}

void Prediction::collectGarbage() {
  const SteadyTime now = executor_.steadyNow();
  for (auto it = models_.begin(); it != models_.end();) {
    if (now - it->second.learnt <= options_.expiry) {
      ++it;
      continue;
    }
    if (it->first.find('/') == std::string::npos) ::unlink(fileOf(it->first).c_str());
    it = models_.erase(it);
  }
}

}  // namespace koord::koordlet
