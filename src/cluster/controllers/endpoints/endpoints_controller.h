#pragma once

// Keeps the EndpointSlices and the Endpoints object of each service with a selector, and mirrors
// the Endpoints that users write for services without one into slices. In place of three
// controllers of kube-controller-manager, under their names.

#include <map>
#include <set>

#include "cluster/controllers/endpoints/endpoint_plan.h"
#include "cluster/services/objects/objects.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class EndpointsController {
 public:
  EndpointsController(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
                      Random random);
  // Its own informers; start() is called once they are synced.
  void startInformers();
  void onSynced(std::function<void()> fn);
  void start() { queue_.start(); }

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using ServicePtr = std::shared_ptr<const services::Service>;
  using SlicePtr = std::shared_ptr<const services::EndpointSlice>;

  void podChanged(const PodPtr& pod);
  Task<Result<>> sync(std::string key);
  Task<Result<>> syncSelected(ServicePtr service);
  Task<Result<>> mirror(ServicePtr service);
  Task<Result<>> removeEndpoints(api::ObjectKey key);
  Task<Result<>> writeSlices(ServicePtr service, const char* manager, SlicePlan plan,
                             json::object labels);
  Task<Result<>> removeSlices(std::vector<SlicePtr> slices);
  Task<Result<>> writeEndpoints(ServicePtr service, EndpointGroups groups);
  Task<Result<std::map<std::string, std::string>>> hostnamesOf(ServicePtr service);
  std::vector<SlicePtr> slicesOf(const services::Service& service, std::string_view manager) const;

  kube::Api& api_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<services::Service> services_;
  kube::Informer<services::EndpointSlice> slices_;
  kube::Informer<services::Endpoints> endpoints_;
  std::map<std::string, std::set<std::string>> byNamespace_;  // names of services with a selector
  std::map<std::string, std::set<std::string>> sliceNames_;   // by key of the service
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
