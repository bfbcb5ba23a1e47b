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
  quota.replaceResources =
      on("ElasticQuotaEvaluationTransformPod") && on("ReplaceResourcesTransformer");
  quota.evaluator = options.quotaUpdates;
  return quota;
}

PodWebhook::Options podOptions(const FeatureGates& gates) {
  const auto on = [&](std::string_view gate) { return gates.enabled(gate); };
  return {{on("ColocationProfileSkipMutatingResources"), on("DisableExtendedResourceSpec"),
           on("DisableDeviceResourceSpec")},
          {on("ColocationProfileSkipValidatingPriority")}};
}

}  // namespace

Webhooks::Webhooks(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                   const WebhooksOptions& options)
    : podQuota_(api, executor, random.fork(), podQuotaOptions(options)),
      podWebhook_(api, executor, metrics, random.fork(), podOptions(options.gates), &podQuota_) {
  if (options.gates.enabled("PodMutatingWebhook"))
    handlers_["/mutate-pod"] = [this](api::AdmissionRequest request) {
      return podWebhook_.mutate(std::move(request));
    };
  if (options.gates.enabled("PodValidatingWebhook"))
    handlers_["/validate-pod"] = [this](api::AdmissionRequest request) {
      return podWebhook_.validate(std::move(request));
    };
  handleQuotas(api, executor, metrics, options.gates);
}

void Webhooks::handleQuotas(kube::Api& api, Executor& executor, Metrics& metrics,
                            const FeatureGates& gates) {
  quotaWebhook_ = std::make_unique<QuotaWebhook>(
      api, executor, metrics,
      QuotaRules{gates.enabled("ElasticQuotaEnableUpdateResourceKey"),
                 gates.enabled("ElasticQuotaGuaranteeUsage")});
  if (gates.enabled("ElasticMutatingWebhook"))
    handlers_[kMutateQuota] = [this](api::AdmissionRequest request) {
      return quotaWebhook_->mutate(std::move(request));
    };
  if (gates.enabled("ElasticValidatingWebhook"))
    handlers_[kValidateQuota] = [this](api::AdmissionRequest request) {
      return quotaWebhook_->validate(std::move(request));
    };
}

void Webhooks::start() {
  podQuota_.start();
  podWebhook_.start();
}

bool Webhooks::synced() const {
  return podWebhook_.synced() && podQuota_.synced();
}

}  // namespace koord::manager
