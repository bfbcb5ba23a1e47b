#pragma once

// The recommender (gate Recommender): computes recommended requests for the containers of each
// Recommendation's pods.
//
// Every report of koordlet (a new status.updateTime of a NodeMetric) is a sample of each pod in it,
// for the Recommendations of the pod's namespace that include it. Models are kept per container
// name. Each Recommendation is checked every minute: its status is written if an amount changed by
// more than 5 % or a condition changed. Its models are saved in its annotation every ten minutes,
// and the next leader reads them from there. So at most ten minutes are lost, nothing counts twice,
// and the models are deleted with the object.

#include <map>
#include <string>
#include <unordered_map>

#include "api/recommendation.h"
#include "api/slo.h"
#include "api/workloads.h"
#include "kube/informer.h"
#include "kube/work_queue.h"
#include "manager/common/metrics.h"
#include "manager/recommender/container_model.h"
#include "manager/recommender/targets.h"

namespace koord::manager {

class RecommenderController {
 public:
  RecommenderController(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
                        kube::Informer<api::NodeMetric>& nodeMetrics, Metrics& metrics,
                        Random random);
  ~RecommenderController();

  void start();
  // The models, the pods and the calculation of the amounts. NotFound for an unknown
  // Recommendation.
  Result<json::value> explain(const api::ObjectKey& key) const;

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using RecommendationPtr = std::shared_ptr<const api::Recommendation>;

  // The models of one Recommendation.
  struct Record {
    RecommendationPtr object;
    Result<RecommendationPods> pods;
    std::map<std::string, ContainerModel> models;  // by container
    WallTime known{};  // the loaded models include reports up to this time
    SteadyTime saved{};
    bool unsaved = false;
  };
  struct PodWindows {
    std::unordered_map<std::string, MemoryWindow> byContainer;
    std::unordered_map<std::string, WallTime> killed;  // by container, the last counted kill
    WallTime seen{};
  };

  void startWhenSynced();
  void take(const RecommendationPtr& recommendation);
  void look();
  void addReport(const api::NodeMetric& metric);
  void addKills(const api::Pod& pod);
  template <class Visit>
  void forEachRecordOf(const api::Pod& pod, Visit visit);
  MemoryWindow& windowOf(const api::ObjectKey& recommendation, const api::Pod& pod,
                         const std::string& container);
  std::size_t countPods(const Record& record) const;
  const api::List<api::OwnerReference>* ownersOf(std::string_view kind, std::string_view namespace_,
                                                 std::string_view name) const;
  api::RecommendationStatus statusOf(const Record& record) const;
  Task<Result<>> reconcile(std::string key);
  Task<Result<>> save(api::ObjectKey key);
  // The current windows of its pods: {UID: {CONTAINER: WINDOW}}.
  json::object savedWindows(const api::ObjectKey& key) const;
  void readWindows(const api::Recommendation& object);
  void forgetWindows(const api::ObjectKey& key);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::NodeMetric>& nodeMetrics_;
  kube::Informer<api::Recommendation> recommendations_;
  kube::Informer<api::ReplicaSet> replicaSets_;
  kube::Informer<api::Job> jobs_;
  std::map<api::ObjectKey, Record> records_;
  std::map<std::string, PodWindows> windows_;           // "namespace/recommendation/uid of the pod"
  std::unordered_map<std::string, WallTime> reported_;  // by node, the last added report
  OwnersOf owners_;
  bool ready_ = false;
  TimerId timer_ = 0;
  kube::WorkQueue queue_;
};

}  // namespace koord::manager
