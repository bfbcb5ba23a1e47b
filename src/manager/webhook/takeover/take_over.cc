#include "manager/webhook/takeover/take_over.h"

#include "api/codec.h"
#include "base/log.h"

namespace koord::manager {

TakeOver::TakeOver(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                   Options options)
    : metrics_(metrics),
      executor_(executor),
      options_(std::move(options)),
      configs_(api, executor,
               {options_.configNamespace, "", "metadata.name=" + options_.configName}, random) {
  configs_.addHandler({[this](const auto& config) { read(*config); },
                       [this](const auto&, const auto& config) { read(*config); },
                       [this](const auto&) {
                         rules_ = {};
                         metrics_.takeOverRead(true);  // none is not an invalid one
                         log::info("ConfigMap {}/{} was deleted: no pod is taken over",
                                   options_.configNamespace, options_.configName);
                       }});
}

void TakeOver::read(const api::ConfigMap& config) {
  auto rules = readTakeOverRules(config);
  metrics_.takeOverRead(rules.has_value());
  if (!rules)
    return log::error("ConfigMap {}/{}: {}; the last valid rules stay in force: {}",
                      options_.configNamespace, options_.configName, rules.error().message,
                      describeTakeOver(rules_));
  rules_ = *std::move(rules);
  log::info("ConfigMap {}/{}: {}", options_.configNamespace, options_.configName,
            describeTakeOver(rules_));
}

Result<> TakeOver::check(const api::AdmissionRequest& request) const {
  auto config = api::decode<api::ConfigMap>(request.object);
  if (!config) return fail(std::move(config.error()));
  auto& meta = config->metadata;
  if (meta.namespace_.empty()) meta.namespace_ = request.namespace_;
  if (meta.name != options_.configName || meta.namespace_ != options_.configNamespace) return {};
  auto rules = readTakeOverRules(*config);
  if (!rules) return fail(std::move(rules.error()));
  return {};
}

Task<Verdict> TakeOver::validate(api::AdmissionRequest request) {
  if (!writesCore(request, "configmaps")) co_return allow();
  const SteadyTime began = executor_.steadyNow();
  const Result<> checked = check(request);
  metrics_.webhookRan("validate", "ConfigMap", request.operation, "TakeOver", checked.has_value(),
                      executor_.steadyNow() - began);
  if (!checked) co_return refuse(400, checked.error().message);
  co_return allow();
}

Task<void> TakeOver::apply(ProfileCache* namespaces, std::string namespace_, bool dryRun,
                           json::value* pod) {
  if (!rules_.selectsAny()) co_return;
  api::StringMap labels;
  if (needsNamespaceLabels(rules_, namespace_)) {
    auto reading = namespaces->namespaceLabels(namespace_);
    auto found = co_await reading;
    if (!found) {
      log::warn("take-over: the labels of namespace {} cannot be read, so a pod stays with {}: {}",
                namespace_, rules_.from, found.error().message);
      co_return;
    }
    labels = *std::move(found);
  }
  if (takeOverPod(rules_, namespace_, labels, *pod) && !dryRun)
    metrics_.podTakenOver(namespace_, rules_.from, rules_.to);
}

}  // namespace koord::manager
