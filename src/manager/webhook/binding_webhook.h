#pragma once

// Decides which users may bind pods to nodes (gate BindingAdmissionWebhook): while a cluster
// migrates from one scheduler to another, the old one is kept from binding. Other users are refused
// in the configured namespaces, unless the pod has a bypass label or annotation. The lists are read
// once. Pods come from a watch, because a refused scheduler retries all the time, and the API
// server admits a binding whose verdict is late.

#include <set>
#include <string>
#include <vector>

#include "api/pod.h"
#include "kube/informer.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"

namespace koord::manager {

// As on the command line: lists separated by commas.
struct BindingAdmissionFlags {
  std::string userNames;   // parts of names of users who may bind; "" = all users
  std::string namespaces;  // where bindings are checked; "*" = everywhere, "" = nowhere
  std::string excludedNamespaces = "kube-system";
  std::string bypassLabels = "koordinator.sh/binding-admission-bypass";
  std::string bypassAnnotations;
  bool dryRun = false;  // count and log only
};

class BindingWebhook {
 public:
  // Allows everything if the gate is off.
  BindingWebhook(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                 const BindingAdmissionFlags& flags, bool gateIsOn);

  void start();
  bool synced() const { return !watches() || pods_.synced(); }
  Task<Verdict> validate(api::AdmissionRequest request);

 private:
  bool watches() const { return enabled_ && !userNames_.empty(); }
  bool mayBind(std::string_view user) const;
  Task<Result<std::shared_ptr<const api::Pod>>> podOf(api::ObjectKey key);
  // The decision by the request alone, if it passes: its name for the metric, "" if it is not
  // counted.
  std::optional<std::string_view> passes(const api::AdmissionRequest& request) const;

  kube::Api& api_;
  Metrics& metrics_;
  bool enabled_;
  bool dryRun_;
  bool everywhere_;
  std::vector<std::string> userNames_;
  std::set<std::string, std::less<>> namespaces_;
  std::set<std::string, std::less<>> excluded_;
  std::vector<std::string> bypassLabels_;
  std::vector<std::string> bypassAnnotations_;
  kube::Informer<api::Pod> pods_;
};

}  // namespace koord::manager
