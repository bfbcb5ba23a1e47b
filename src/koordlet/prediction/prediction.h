#pragma once

// Learns the usage of pods and the node, and predicts how much of the requests of prod pods will
// stay unused. koord-manager turns that into mid resources. Models are saved to files, a few a
// minute, so that a restart loses at most some minutes of learning.

#include <map>
#include <set>
#include <string>

#include "base/task.h"
#include "koordlet/metriccache/metric_cache.h"
#include "koordlet/metrics/metrics.h"
#include "koordlet/prediction/models.h"
#include "koordlet/prediction/reclaim.h"
#include "koordlet/states/states.h"

namespace koord::koordlet {

struct PredictionOptions {
  std::string directory = "/prediction-checkpoints";  // of the files
  prediction::HalfLives halfLives;
  prediction::ReclaimOptions reclaim;
  Duration trainingInterval = std::chrono::minutes(1);
  Duration expiry = std::chrono::minutes(30);  // of models without a sample
  Duration saveInterval = std::chrono::minutes(10);
  std::int64_t savesPerStep = 12;
};

class Prediction {
 public:
  Prediction(Executor& executor, const States& states, const MetricCache& cache, Metrics& metrics,
             PredictionOptions options);
  void start();

  // Returns the smallest reclaimable amount and the largest peak of all predictors; an error until
  // enough is known.
  Result<prediction::Forecast> prod() const;
  std::size_t modelCount() const { return models_.size(); }

  // One step each; start() does them every minute.
  void restore();
  void train();
  void save();
  void collectGarbage();

 private:
  Task<void> loop();
  void learn(const std::string& key, double cores, double bytes);
  std::string fileOf(std::string_view key) const;
  void restoreFile(const std::string& name, const std::set<std::string>& known);
  Result<prediction::Forecast> predict() const;

  Executor& executor_;
  const States& states_;
  const MetricCache& cache_;
  Metrics& metrics_;
  PredictionOptions options_;
  std::map<std::string, prediction::Model, std::less<>> models_;
  mutable std::vector<prediction::Amount> requests_;  // of the pods, in their order
  mutable std::uint64_t requestsFor_ = 0;             // their version
  std::string saveProblem_;                           // logged once
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
