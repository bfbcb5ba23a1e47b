#include "manager/webhook/webhooks.h"

namespace koord::manager {

namespace {

constexpr const char* kMutateQuota = "/mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota";
constexpr const char* kValidateQuota = "/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota";

PodQuota::Options podQuotaOptions(const WebhooksOptions& options) {
  const auto on = [&](std::string_view gate) { return options.gates.enabled(gate); };
  PodQuota::Options quota;
  quota.noDefaultQuota = on("DisableDefaultQuota");
  quota.parentsHavePods = on("SupportParentQuotaSubmitPod");
  quota.evaluate = on("EnableQuotaAdmission");
  quota.evaluateUpdates = on("EnableQuotaAdmissionOnUpdate");
  quota.trees = on("MultiQuotaTree");
  quota.replaceResources =
      on("ElasticQuotaEvaluationTransformPod") && on("ReplaceResourcesTransformer");
  quota.evaluator = options.quotaUpdates;
  return quota;
}

PodWebhook::Options podOptions(const FeatureGates& gates) {
  const auto on = [&](std::string_view gate) { return gates.enabled(gate); };
  return {{on("ColocationProfileSkipMutatingResources"), on("DisableExtendedResourceSpec"),
           on("DisableDeviceResourceSpec"),
           on("ExtendedResourceSpecInFull") ? model::ExtendedResources::InFull
                                            : model::ExtendedResources::BatchOfContainers},
          {on("ColocationProfileSkipValidatingPriority"), on("ValidatePodDeviceResource")}};
}

EnhancedValidation::Options enhancedOptions(const WebhooksOptions& options) {
  EnhancedValidation::Options enhanced = options.enhanced;
  enhanced.enabled = options.gates.enabled("EnablePodEnhancedValidator");
  return enhanced;
}

}  // namespace

template <class Webhook>
void Webhooks::handle(const FeatureGates& gates, std::string_view gate, const char* path,
                      Webhook& webhook, Task<Verdict> (Webhook::*answer)(api::AdmissionRequest)) {
  if (!gates.enabled(gate)) return;
  handlers_[path] = [&webhook, answer](api::AdmissionRequest request) {
    return (webhook.*answer)(std::move(request));
  };
}

Webhooks::Webhooks(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                   const WebhooksOptions& options)
    : quotaLedger_(api, executor, random.fork()),
      podQuota_(api, executor, random.fork(), quotaLedger_, podQuotaOptions(options)),
      enhanced_(api, executor, random.fork(), enhancedOptions(options)),
      takeOver_(api, executor, metrics, random.fork(), options.takeOver),
      podWebhook_(api, executor, metrics, random.fork(), podOptions(options.gates),
                  {&podQuota_, &enhanced_, &takeOver_}),
      quotaWebhook_(api, executor, metrics, quotaLedger_,
                    {options.gates.enabled("ElasticQuotaEnableUpdateResourceKey"),
                     options.gates.enabled("ElasticQuotaGuaranteeUsage")}),
      configWebhook_(api, executor, metrics, options.config),
      reservationWebhook_(podWebhook_.profiles(), executor, metrics, random.fork()),
      nodeWebhook_(executor, metrics),
      bindingWebhook_(api, executor, metrics, random.fork(), options.binding,
                      options.gates.enabled("BindingAdmissionWebhook")) {
  const FeatureGates& gates = options.gates;
  handle(gates, "PodMutatingWebhook", "/mutate-pod", podWebhook_, &PodWebhook::mutate);
  // Its rules take effect by the webhook for new pods, so they share a gate.
  handle(gates, "PodMutatingWebhook", "/validate-take-over", takeOver_, &TakeOver::validate);
  handle(gates, "PodValidatingWebhook", "/validate-pod", podWebhook_, &PodWebhook::validate);
  // As in upstream: the path exists with the pods' gate, and its own gate decides its answer.
  handle(gates, "PodValidatingWebhook", "/validate-pod-binding", bindingWebhook_,
         &BindingWebhook::validate);
  handle(gates, "ElasticMutatingWebhook", kMutateQuota, quotaWebhook_, &QuotaWebhook::mutate);
  handle(gates, "ElasticValidatingWebhook", kValidateQuota, quotaWebhook_, &QuotaWebhook::validate);
  handle(gates, "ConfigMapValidatingWebhook", "/validate-configmap", configWebhook_,
         &ConfigWebhook::validateConfig);
  handle(gates, "NodeValidatingWebhook", "/validate-node", configWebhook_,
         &ConfigWebhook::validateNode);
  handle(gates, "ReservationMutatingWebhook", "/mutate-reservation", reservationWebhook_,
         &ReservationWebhook::mutate);
  handle(gates, "NodeMutatingWebhook", "/mutate-node-status", nodeWebhook_,
         &NodeWebhook::mutateStatus);
}

void Webhooks::start() {
  quotaLedger_.start();
  podQuota_.start();
  enhanced_.start();
  takeOver_.start();
  podWebhook_.start();
  bindingWebhook_.start();
}

bool Webhooks::synced() const {
  return podWebhook_.synced() && podQuota_.synced() && enhanced_.synced() && takeOver_.synced() &&
         bindingWebhook_.synced();
}

}  // namespace koord::manager
