#include "manager/webhook/binding_webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "api/pod.h"
#include "base/log.h"
#include "kube/client.h"

namespace koord::manager {

namespace {

std::vector<std::string> itemsOf(std::string_view list) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> items;
  for (const auto part : std::views::split(list, ',')) {
    std::string_view item(part.begin(), part.end());
    const auto first = item.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) continue;
    items.emplace_back(item.substr(first, item.find_last_not_of(kBlanks) - first + 1));
  }
  return items;
}

std::set<std::string, std::less<>> setOf(std::string_view list) {
  const auto items = itemsOf(list);
  return {items.begin(), items.end()};
}

bool hasAny(const api::StringMap& map, const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [&](const auto& key) { return map.contains(key); });
}

}  // namespace

BindingWebhook::BindingWebhook(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
                               const BindingAdmissionFlags& flags, bool gateIsOn)
    : api_(api),
      metrics_(metrics),
      enabled_(gateIsOn),
      dryRun_(flags.dryRun),
      everywhere_(flags.namespaces == "*"),
      userNames_(itemsOf(flags.userNames)),
      namespaces_(setOf(flags.namespaces)),
      excluded_(setOf(flags.excludedNamespaces)),
      bypassLabels_(itemsOf(flags.bypassLabels)),
      bypassAnnotations_(itemsOf(flags.bypassAnnotations)),
      pods_(api, executor, {}, random) {
  pods_.setTransform([](api::Pod& pod) {
    pod.spec = {};
    pod.status = {};
  });
}

void BindingWebhook::start() {
  if (watches()) pods_.start();
}

// Reads a pod that the watch has not delivered yet from the API server.
Task<Result<std::shared_ptr<const api::Pod>>> BindingWebhook::podOf(api::ObjectKey key) {
  if (auto known = pods_.get(key)) co_return known;
  auto reading = kube::get<api::Pod>(api_, key);
  auto pod = co_await reading;
  if (!pod) co_return fail(std::move(pod.error()));
  co_return std::make_shared<const api::Pod>(*std::move(pod));
}

bool BindingWebhook::mayBind(std::string_view user) const {
  return std::ranges::any_of(userNames_, [&](const auto& name) { return user.contains(name); });
}

std::optional<std::string_view> BindingWebhook::passes(const api::AdmissionRequest& request) const {
  if (!enabled_ || userNames_.empty()) return "";
  if (request.resource.resource != "pods" || request.subResource != "binding" ||
      request.operation != "CREATE")
    return "";
  if (mayBind(request.userInfo.username)) return "allowed_username";
  if (excluded_.contains(request.namespace_)) return "excluded_ns";
  if (everywhere_) return std::nullopt;
  if (namespaces_.empty()) return "";
  if (!namespaces_.contains(request.namespace_)) return "out_of_scope";
  return std::nullopt;
}

Task<Verdict> BindingWebhook::validate(api::AdmissionRequest request) {
  if (const auto decision = passes(request)) {
    if (!decision->empty()) metrics_.bindingDecided(*decision);
    co_return allow();
  }
  const api::ObjectKey key{request.namespace_, request.name};
  auto reading = podOf(key);
  const auto found = co_await reading;
  if (!found) {
    log::v(3, "binding of pod {}: cannot read the pod, so the binding is allowed: {}",
           key.toString(), found.error().message);
    co_return allow();
  }
  const auto& pod = *found;
  const std::string_view decision = hasAny(pod->metadata.labels, bypassLabels_) ? "bypass_label"
                                    : hasAny(pod->metadata.annotations, bypassAnnotations_)
                                        ? "bypass_annotation"
                                    : dryRun_ ? "dry_run"
                                              : "denied";
  metrics_.bindingDecided(decision);
  if (decision == "dry_run" || decision == "denied")
    log::v(3, "binding of pod {} by {}, who is not in --binding-admission-user-name: {}",
           key.toString(), request.userInfo.username, dryRun_ ? "would be denied" : "denied");
  if (decision != "denied") co_return allow();
  co_return refuse(403, "binding denied: username is not in the allowed list");
}

}  // namespace koord::manager
