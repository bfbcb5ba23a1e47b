#pragma once

// Who may bind pods to nodes (gate BindingAdmissionWebhook): while a cluster moves from one scheduler to
// another, the old one is kept from binding. Whoever is not on the list is refused in the namespaces that
// are named, unless the pod carries a label or an annotation that lets it pass. Lists are read once. Pods are watched
// for that: a scheduler that is refused tries again and again, and the API server lets a binding pass whose verdict is
// late.

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
  std::string userNames;   // parts of names of users who may bind; "" = everybody
  std::string namespaces;  // where this is looked at; "*" = everywhere, "" = nowhere
  std::string excludedNamespaces = "kube-system";
  std::string bypassLabels = "koordinator.sh/binding-admission-bypass";
  std::string bypassAnnotations;
  bool dryRun = false;  // count and log only
};

class BindingWebhook {
 public:
  // Without the gate everything is allowed.
  BindingWebhook(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                 const BindingAdmissionFlags& flags, bool gateIsOn);

  void start();
  bool synced() const { return !watches() || pods_.synced(); }
  Task<Verdict> validate(api::AdmissionRequest request);

 private:
  bool watches() const { return enabled_ && !userNames_.empty(); }
  bool mayBind(std::string_view user) const;
  Task<Result<std::shared_ptr<const api::Pod>>> podOf(api::ObjectKey key);
  // What of the request alone lets it pass: the decision's name, "" for one that is not counted.
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
