#pragma once

// The manager's metrics, under upstream's names. Values may be changed and read on any thread.

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "kube/metrics.h"

namespace koord::manager {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Reconciles and what they did, per controller; `reason` names the step that failed ("" = none
  // did).
  void nodeResourceReconciled(bool ok, std::string_view reason);
  void nodeMetricReconciled(bool ok, std::string_view reason);
  void nodeMetricSpecParsed(bool ok, std::string_view reason);
  void nodeSloReconciled(bool ok, std::string_view reason);
  void nodeSloSpecParsed(bool ok, std::string_view reason);
  void pluginRan(std::string_view plugin, bool ok, std::string_view stage);

  // What a node offers, as calculated; unit is integer or byte.
  void setExtendedResource(std::string_view node, std::string_view resource, std::string_view unit,
                           double value);
  void removeExtendedResource(std::string_view node, std::string_view resource,
                              std::string_view unit);

  // One step of an admission webhook. type: mutate or validate.
  void webhookRan(std::string_view type, std::string_view objectType, std::string_view operation,
                  std::string_view plugin, bool allowed, Duration took);

  // One decision on who may bind a pod.
  void bindingDecided(std::string_view decision);

  // The weight with which a quota shares what others leave.
  void setQuotaSharedWeight(std::string_view quota, std::string_view resource, double weight);

  // How many pods were admitted without this profile; none = there is nothing to show.
  void setPodsWithoutProfile(std::string_view profile, int pods);

  void setLeader(bool leader);

  // Where work queues count, before the controllers are made; null until then.
  void setClient(std::shared_ptr<kube::Metrics> client) { client_ = std::move(client); }
  kube::Metrics* client() const { return client_.get(); }

  // The Prometheus text format: metrics of the process (/metrics) and of the manager's own work.
  std::string processText() const;
  std::string internalText() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  std::shared_ptr<kube::Metrics> client_;
};

}  // namespace koord::manager
