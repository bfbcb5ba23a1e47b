#include "manager/common/selection.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::manager {

bool isSelected(const std::vector<std::string>& list, std::string_view name) {
  for (const auto& entry : list) {
    if (entry == name) return true;
    if (entry.size() == name.size() + 1 && entry[0] == '-' && entry.ends_with(name)) return false;
  }
  return std::ranges::find(list, "*") != list.end();
}

FeatureGates::FeatureGates() {
  for (const char* name : {"WebhookFramework", "PodMutatingWebhook", "PodValidatingWebhook",
                           "ElasticMutatingWebhook", "ElasticValidatingWebhook"})
    gates_[name] = true;
  for (const char* name : {"NodeMutatingWebhook",
                           "NodeValidatingWebhook",
                           "ConfigMapValidatingWebhook",
                           "ReservationMutatingWebhook",
                           "BindingAdmissionWebhook",
                           "ColocationProfileSkipMutatingResources",
                           "ColocationProfileSkipValidatingPriority",
                           "ColocationProfileController",
                           "DisableExtendedResourceSpec",
                           "DisableDeviceResourceSpec",
                           "ValidatePodDeviceResource",
                           "EnablePodEnhancedValidator",
                           "MultiQuotaTree",
                           "ElasticQuotaIgnorePodOverhead",
                           "ElasticQuotaGuaranteeUsage",
                           "ElasticQuotaEnableUpdateResourceKey",
                           "ElasticQuotaEvaluationTransformPod",
                           "DisableDefaultQuota",
                           "SupportParentQuotaSubmitPod",
                           "EnableQuotaAdmission",
                           "EnableQuotaAdmissionOnUpdate",
                           "EnableSyncGPUSharedResource",
                           "DisablePVCReservation",
                           "PriorityTransformer",
                           "PreemptionPolicyTransformer",
                           "ReplaceResourcesTransformer"})
    gates_[name] = false;
}

Result<> FeatureGates::set(std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    const auto gate = gates_.find(name);
    if (gate == gates_.end())
      return fail(ErrorCode::Invalid, fmt::format("--feature-gates: there is no gate {}", name));
    if (value != "true" && value != "false")
      return fail(
          ErrorCode::Invalid,
          fmt::format("--feature-gates: {} must be true or false, not \"{}\"", name, value));
    gate->second = value == "true";
  }
  return {};
}

bool FeatureGates::enabled(std::string_view name) const {
  const auto gate = gates_.find(name);
  return gate != gates_.end() && gate->second;
}

std::string FeatureGates::help() const {
  std::string text;
  for (const auto& [name, enabled] : gates_)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, enabled);
  return text;
}

}  // namespace koord::manager
