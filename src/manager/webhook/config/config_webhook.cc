#include "manager/webhook/config/config_webhook.h"

#include "api/codec.h"
#include "base/log.h"
#include "kube/client.h"
#include "manager/webhook/config/config_checks.h"

namespace koord::manager {

Task<Result<>> ConfigWebhook::checkConfigMap(const api::AdmissionRequest& request) {
  const auto config = api::decode<api::ConfigMap>(request.object);
  if (!config) co_return fail(config.error());
  const auto& meta = config->metadata;
  const std::string& ns = meta.namespace_.empty() ? request.namespace_ : meta.namespace_;
  if (meta.name != options_.configName || ns != options_.configNamespace) co_return Result<>();
  std::optional<api::ConfigMap> old;
  if (request.operation == "UPDATE") {
    auto before = api::decode<api::ConfigMap>(request.oldObject);
    if (!before) co_return fail(before.error());
    old = *std::move(before);
  }
  const auto sections = checkConfig(*config, old ? &*old : nullptr, options_.namesRequired);
  if (!sections) co_return fail(sections.error());
  bool severalEntries = false;
  for (const auto& section : *sections) severalEntries |= section.entries.size() > 1;
  if (!severalEntries) co_return Result<>();
  auto listing = kube::list<api::Node>(api_);
  const auto nodes = co_await listing;
  if (!nodes)
    co_return fail(ErrorCode::Unavailable,
                   "check config conflict fail! list node fail,error:" + nodes.error().message);
  for (const auto& node : nodes->items)
    if (auto ok = checkNode(*sections, node.metadata); !ok) co_return ok;
  co_return Result<>();
}

Task<Verdict> ConfigWebhook::validateConfig(api::AdmissionRequest request) {
  if (!writesCore(request, "configmaps")) co_return allow();
  const SteadyTime began = executor_.steadyNow();
  auto checking = checkConfigMap(request);
  const Result<> checked = co_await checking;
  metrics_.webhookRan("validate", "ConfigMap", request.operation, "SLOConfig", checked.has_value(),
                      executor_.steadyNow() - began);
  if (!checked) co_return refuse(400, checked.error().message);
  co_return allow();
}

Task<Result<>> ConfigWebhook::checkNodeLabels(const api::AdmissionRequest& request) {
  const auto node = api::decode<api::Node>(request.object);
  if (!node) co_return fail(node.error());
  const bool creating = request.operation == "CREATE";
  if (!creating) {
    const auto old = api::decode<api::Node>(request.oldObject);
    if (!old) co_return fail(old.error());
    if (old->metadata.labels == node->metadata.labels) co_return Result<>();
  }
  auto reading = kube::get<api::ConfigMap>(api_, {options_.configNamespace, options_.configName});
  const auto config = co_await reading;
  // Without a configuration no entries can conflict.
  if (!config) co_return Result<>();
  auto conflict = checkNode(readSections(*config), node->metadata);
  if (conflict || !creating) co_return conflict;
  log::warn("node {} is selected twice: {}", node->metadata.name, conflict.error().message);
  co_return Result<>();
}

Task<Verdict> ConfigWebhook::validateNode(api::AdmissionRequest request) {
  if (!writesCore(request, "nodes")) co_return allow();
  const SteadyTime began = executor_.steadyNow();
  auto checking = checkNodeLabels(request);
  const Result<> checked = co_await checking;
  metrics_.webhookRan("validate", "Node", request.operation, "SLOConfig", checked.has_value(),
                      executor_.steadyNow() - began);
  if (!checked) co_return refuse(400, checked.error().message);
  co_return allow();
}

}  // namespace koord::manager
