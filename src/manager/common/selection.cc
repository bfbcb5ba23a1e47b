#include "manager/common/selection.h"

#include <algorithm>

namespace koord::manager {

namespace {

struct Gate {
  std::string_view name;
  std::string_view stage;
  bool enabled;
  bool present;
};

std::vector<flags::FeatureGate> gates() {
  constexpr Gate kGates[] = {
      {"WebhookFramework", "BETA", true, true},
      {"PodMutatingWebhook", "BETA", true, true},
      {"PodValidatingWebhook", "BETA", true, true},
      {"ElasticMutatingWebhook", "BETA", true, true},
      {"ElasticValidatingWebhook", "BETA", true, true},
      {"NodeMutatingWebhook", "ALPHA", false, true},
      {"NodeValidatingWebhook", "ALPHA", false, true},
      {"ConfigMapValidatingWebhook", "ALPHA", false, true},
      {"ReservationMutatingWebhook", "ALPHA", false, true},
      {"BindingAdmissionWebhook", "ALPHA", false, true},
      {"ColocationProfileSkipMutatingResources", "ALPHA", false, true},
      {"ColocationProfileSkipValidatingPriority", "ALPHA", false, true},
      {"ColocationProfileController", "ALPHA", false, true},
      {"DisableExtendedResourceSpec", "ALPHA", false, true},
      {"DisableDeviceResourceSpec", "ALPHA", false, true},
      {"ValidatePodDeviceResource", "ALPHA", false, true},
      {"EnablePodEnhancedValidator", "ALPHA", false, true},
      {"MultiQuotaTree", "ALPHA", false, true},
      {"ElasticQuotaIgnorePodOverhead", "ALPHA", false, false},
      {"ElasticQuotaGuaranteeUsage", "ALPHA", false, true},
      {"ElasticQuotaEnableUpdateResourceKey", "ALPHA", false, true},
      {"ElasticQuotaEvaluationTransformPod", "ALPHA", false, true},
      {"DisableDefaultQuota", "ALPHA", false, true},
      {"SupportParentQuotaSubmitPod", "ALPHA", false, true},
      {"EnableQuotaAdmission", "ALPHA", false, true},
      {"EnableQuotaAdmissionOnUpdate", "ALPHA", false, true},
      {"EnableSyncGPUSharedResource", "ALPHA", false, true},
      {"Recommender", "ALPHA", false, true},
      {"ExtendedResourceSpecInFull", "ALPHA", false, true},
      {"DisablePVCReservation", "BETA", false, false},
      {"PriorityTransformer", "ALPHA", false, false},
      {"PreemptionPolicyTransformer", "ALPHA", false, false},
      {"ReplaceResourcesTransformer", "ALPHA", false, true},
  };
  std::vector<flags::FeatureGate> gates;
  for (const Gate& gate : kGates)
    gates.push_back({std::string(gate.name), std::string(gate.stage), gate.enabled, gate.present});
  return gates;
}

}  // namespace

bool isSelected(const std::vector<std::string>& list, std::string_view name) {
  for (const auto& entry : list) {
    if (entry == name) return true;
    if (entry.size() == name.size() + 1 && entry[0] == '-' && entry.ends_with(name)) return false;
  }
  return std::ranges::find(list, "*") != list.end();
}

FeatureGates::FeatureGates() : flags::FeatureGates(gates()) {}

}  // namespace koord::manager
