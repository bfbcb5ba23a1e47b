#pragma once

// Labels that pods must have (gate EnablePodEnhancedValidator), by the rules in a ConfigMap:
//
//   enable: "true"
//   rules: [{"name": "owner", "requiredLabels": ["team"], "namespaceWhitelist": ["kube-system"]}]
//
// The ConfigMap is watched, so a change applies at once. An invalid one leaves the rules unchanged;
// without a ConfigMap there are no rules. Pods labelled
// pod.koordinator.sh/skip-enhanced-validation=true pass.

#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/pod.h"
#include "kube/informer.h"

namespace koord::manager {

struct PodRule {
  std::string name;
  api::List<std::string> requiredLabels;
  api::List<std::string> namespaceWhitelist;
};
struct PodRules {
  bool enable = false;
  api::List<PodRule> rules;
};

// The error names the key of the data.
Result<PodRules> readPodRules(const api::ConfigMap& config);
// Why the pod is refused; nullopt if it is admitted.
std::optional<std::string> checkPodRules(const PodRules& rules, const api::Pod& pod);

class EnhancedValidation {
 public:
  struct Options {
    bool enabled = false;  // value of the gate
    std::string configNamespace = "koordinator-system";
    std::string configName = "pod-enhanced-validator-config";
  };
  EnhancedValidation(kube::Api& api, Executor& executor, Random random, Options options);

  void start();
  bool synced() const { return !options_.enabled || configs_.synced(); }
  std::optional<std::string> check(const api::Pod& pod) const;

 private:
  void read(const api::ConfigMap& config);

  Options options_;
  PodRules rules_;
  kube::Informer<api::ConfigMap> configs_;
};

}  // namespace koord::manager
