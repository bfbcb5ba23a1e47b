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

  // Counts a reconcile of the controller; `reason` names the step that failed ("" = none).
  void nodeResourceReconciled(bool ok, std::string_view reason);
  void nodeMetricReconciled(bool ok, std::string_view reason);
  void nodeMetricSpecParsed(bool ok, std::string_view reason);
  void nodeSloReconciled(bool ok, std::string_view reason);
  void nodeSloSpecParsed(bool ok, std::string_view reason);
  void pluginRan(std::string_view plugin, bool ok, std::string_view stage);

  // Sets the calculated amount of a node's resource; unit is integer or byte.
  void setExtendedResource(std::string_view node, std::string_view resource, std::string_view unit,
                           double value);
  void removeExtendedResource(std::string_view node, std::string_view resource,
                              std::string_view unit);

  // Counts one step of an admission webhook. type: mutate or validate.
  void webhookRan(std::string_view type, std::string_view objectType, std::string_view operation,
                  std::string_view plugin, bool allowed, Duration took);

  // Counts a decision of the binding webhook.
  void bindingDecided(std::string_view decision);

  // Counts a pod whose scheduler the webhook replaced.
  void podTakenOver(std::string_view namespace_, std::string_view from, std::string_view to);
  // Whether the rules of the take-over that were read last are valid.
  void takeOverRead(bool valid);

  // The weight of a quota in sharing unused resources.
  void setQuotaSharedWeight(std::string_view quota, std::string_view resource, double weight);

  // Sets the number of pods that were admitted without this profile; 0 removes the series.
  void setPodsWithoutProfile(std::string_view profile, int pods);

  void setLeader(bool leader);

  // Sets the metrics of work queues; call it before the controllers are created. nullptr until
  // then.
  void setClient(std::shared_ptr<kube::Metrics> client) { client_ = std::move(client); }
  kube::Metrics* client() const { return client_.get(); }

  // The Prometheus text format: metrics of the process (/metrics) and of the manager itself.
  std::string processText() const;
  std::string internalText() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  std::shared_ptr<kube::Metrics> client_;
};

}  // namespace koord::manager
