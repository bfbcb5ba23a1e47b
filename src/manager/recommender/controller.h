#pragma once

// The recommender (gate Recommender): says for each Recommendation how much the containers of its pods
// should ask for.
//
// Every report of koordlet (a new status.updateTime of a NodeMetric) is a sample of each pod in it, for the
// Recommendations of the pod's namespace that include it. Models are kept per container name. Every minute
// each Recommendation is looked at: its status is written when an amount moved by more than 5 % or a
// condition changed; its models are saved in an annotation of it every ten minutes, and read from there by
// the process that leads next. So at most ten minutes are forgotten, nothing counts twice, and what was
// learnt goes with the object.

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
  // Models, pods and how the amounts come about; NotFound.
  Result<json::value> explain(const api::ObjectKey& key) const;

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using RecommendationPtr = std::shared_ptr<const api::Recommendation>;

  // What was learnt for one Recommendation.
  struct Record {
    RecommendationPtr object;
    Result<RecommendationPods> pods;
    std::map<std::string, ContainerModel> models;  // by container
    WallTime known{};  // reports up to then are in the models that were read
    SteadyTime saved{};
    bool unsaved = false;
  };
  struct PodWindows {
    std::unordered_map<std::string, MemoryWindow> byContainer;
    std::unordered_map<std::string, WallTime> killed;  // the last kill that was counted
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
  // The open days of its pods: {UID: {CONTAINER: WINDOW}}.
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
  std::unordered_map<std::string, WallTime> reported_;  // by node, the last report that was added
  OwnersOf owners_;
  bool ready_ = false;
  TimerId timer_ = 0;
  kube::WorkQueue queue_;
};

}  // namespace koord::manager
