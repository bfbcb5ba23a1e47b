#include <cmath>

#include "base/time.h"
#include "golden/checkers.h"
#include "koordlet/metriccache/aggregate.h"
#include "koordlet/prediction/models.h"
#include "koordlet/prediction/reclaim.h"

namespace koord::golden {
namespace {

namespace predict = koordlet::prediction;

double realNumber(const json::object& object, std::string_view name) {
  return object.at(name).to_number<double>();
}
std::int64_t wholeNumber(const json::object& object, std::string_view name) {
  return object.at(name).to_number<std::int64_t>();
}

// The recorded number where ours is equal up to rounding: sums depend on their order.
json::value nearly(const json::value* recorded, double ours) {
  if (recorded && recorded->is_number()) {
    const double theirs = recorded->to_number<double>();
    if (std::abs(theirs - ours) <= 1e-9 * std::max(std::abs(theirs), std::abs(ours)))
      return *recorded;
  }
  return ours;
}

model::Buckets bucketsOf(const json::object& options) {
  if (options.at("kind").as_string() == "linear")
    return model::Buckets::linear(realNumber(options, "maxValue"),
                                  realNumber(options, "bucketSize"));
  return model::Buckets::exponential(realNumber(options, "maxValue"),
                                     realNumber(options, "firstBucketSize"),
                                     realNumber(options, "ratio"));
}

json::object checkpointOf(const model::Histogram& histogram, const json::object& testCase) {
  const auto saved = histogram.save();
  json::object weights;
  for (const auto& [bucket, weight] : saved.weights) weights[std::to_string(bucket)] = weight;
  const auto* recorded = find(testCase.at("checkpoint"), "totalWeight");
  json::object checkpoint{{"bucketWeights", std::move(weights)},
                          {"totalWeight", nearly(recorded, saved.total)}};
  if (saved.reference) checkpoint["referenceTimestamp"] = formatTime(*saved.reference);
  return checkpoint;
}

Result<json::object> histogram(const json::object& testCase) {
  const auto& options = testCase.at("options").as_object();
  const model::Buckets buckets = bucketsOf(options);
  const auto halfLife = std::chrono::seconds(wholeNumber(testCase, "halfLifeSeconds"));
  model::Histogram filled(buckets, realNumber(options, "epsilon"), halfLife);
  auto time = parseTime(std::string(testCase.at("start").as_string()));
  if (!time) return fail(time.error());
  for (const auto& item : testCase.at("samples").as_array()) {
    const auto& sample = item.as_object();
    *time += std::chrono::seconds(wholeNumber(sample, "afterSeconds"));
    if (sample.contains("add")) {
      filled.add(realNumber(sample, "add"), realNumber(sample, "weight"), *time);
    } else {
      filled.subtract(realNumber(sample, "sub"), realNumber(sample, "weight"), *time);
    }
  }
  model::Histogram restored(buckets, realNumber(options, "epsilon"), halfLife);
  if (auto loaded = restored.load(filled.save()); !loaded) return fail(loaded.error());
  json::array percentiles;
  const auto& recorded = testCase.at("percentiles").as_array();
  for (const auto& entry : recorded) {
    const double share = entry.at(0).to_number<double>();
    percentiles.push_back(json::array{entry.at(0), nearly(&entry.at(1), filled.percentile(share))});
  }
  return json::object{
      {"numBuckets", buckets.count()},
      {"empty", filled.empty()},
      {"percentiles", std::move(percentiles)},
      {"restoredP95", nearly(&testCase.at("restoredP95"), restored.percentile(0.95))},
      {"checkpoint", checkpointOf(filled, testCase)}};
}

json::object written(predict::Amount amount) {
  return {{"milliCPU", amount.milli}, {"memory", amount.bytes}};
}

// The inputs of a pod with what is predicted of it.
json::object podOf(json::object pod, const predict::Model* model) {
  pod.erase("prediction");
  if (!model) return pod;
  json::object shares;
  for (const auto& [name, share] :
       {std::pair("p60", 0.6), std::pair("p90", 0.9), std::pair("p95", 0.95),
        std::pair("p98", 0.98), std::pair("max", 1.0)})
    shares[name] = written(model->percentile(share));
  pod["prediction"] = std::move(shares);
  return pod;
}

Result<json::object> podReclaimable(const json::object& testCase) {
  const auto time = parseTime(std::string(testCase.at("sampleTime").as_string()));
  const auto cpu = parseDuration(std::string(testCase.at("cpuHalfLife").as_string()));
  const auto memory = parseDuration(std::string(testCase.at("memoryHalfLife").as_string()));
  if (!time || !cpu || !memory) return fail(ErrorCode::Invalid, "times cannot be read");
  std::map<std::string, predict::Model, std::less<>> models;
  std::vector<predict::PodDemand> demands;
  json::array pods;
  for (const auto& item : testCase.at("pods").as_array()) {
    const auto& pod = item.as_object();
    const std::string_view uid = pod.at("uid").as_string();  // lives as long as the case
    if (const auto& samples = pod.at("samples_cpu_memory"); samples.is_array()) {
      auto& model = models.emplace(uid, predict::Model({*cpu, *memory})).first->second;
      for (const auto& sample : samples.as_array())
        model.add(sample.at(0).to_number<double>(), sample.at(1).to_number<double>(), *time);
    }
    demands.push_back({uid,
                       model::classOfValue(static_cast<std::int32_t>(wholeNumber(pod, "priority"))),
                       {wholeNumber(pod, "requestMilliCPU"), wholeNumber(pod, "requestMemory")},
                       std::chrono::hours(wholeNumber(pod, "ageHours"))});
    const auto model = models.find(uid);
    pods.push_back(podOf(pod, model == models.end() ? nullptr : &model->second));
  }
  const auto forecast = predict::forecastByPod(
      demands,
      [&](std::string_view uid) -> std::optional<predict::Amount> {
        const auto model = models.find(uid);
        if (model == models.end()) return std::nullopt;
        return model->second.peak();
      },
      {std::chrono::hours(wholeNumber(testCase, "coldStartHours")),
       wholeNumber(testCase, "safetyMarginPercent")},
      std::nullopt);
  return json::object{{"reclaimable", written(forecast.reclaimable)},
                      {"peak", written(forecast.peak)},
                      {"pods", std::move(pods)}};
}

Result<json::object> aggregates(const json::object& testCase) {
  std::vector<double> points;
  for (const auto& point : testCase.at("points").as_array())
    points.push_back(point.to_number<double>());
  if (points.empty()) {  // upstream has an error for each; ours is not asked
    json::object values{{"count", 0}};
    for (const auto* name : {"avg", "p50", "P90", "P95", "p99", "last"}) values[name] = "error";
    return json::object{{"values", std::move(values)}};
  }
  const auto result = koordlet::aggregate(points);
  return json::object{{"values",
                       {{"avg", nearly(find(testCase.at("values"), "avg"), result.avg)},
                        {"p50", result.p50},
                        {"P90", result.p90},
                        {"P95", result.p95},
                        {"p99", result.p99},
                        {"last", result.last},
                        {"count", result.count}}}};
}

Result<json::object> evaluateKoordletPredict(const json::object& testCase) {
  const auto& op = testCase.at("op").as_string();
  if (op == "histogram") return histogram(testCase);
  if (op == "podReclaimable") return podReclaimable(testCase);
  if (op == "aggregate") return aggregates(testCase);
  return fail(ErrorCode::Invalid, "unknown op");
}

}  // namespace

Checker koordletPredictChecker() {
  return {
      .file = "koordlet_predict",
      .inputs = {"coldStartHours", "cpuHalfLife", "halfLifeSeconds", "memoryHalfLife", "op",
                 "options", "points", "predictor", "safetyMarginPercent", "sampleTime", "samples",
                 "start"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateKoordletPredict; },
  };
}

}  // namespace koord::golden
