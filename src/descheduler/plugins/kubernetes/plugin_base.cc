#include "descheduler/plugins/kubernetes/plugin_base.h"

#include <fmt/format.h>

#include <algorithm>

#include "descheduler/rules/pod_selectors.h"

namespace koord::descheduler {

PodScope PodScope::read(Fields& args, bool withLabels) {
  PodScope scope{Namespaces::read(args, "namespaces"), {}};
  if (withLabels) scope.labels = readArgsSelector(args, "labelSelector");
  return scope;
}

std::vector<std::string> readChoices(Fields& args, std::string_view name,
                                     std::initializer_list<std::string_view> known) {
  const auto texts = args.texts(name);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (std::ranges::find(known, texts[i]) != known.end()) continue;
    args.error(fmt::format("{}[{}]", name, i),
               fmt::format("Unsupported value: \"{}\": supported values: {}", texts[i],
                           fmt::join(known, ", ")));
  }
  return texts;
}

bool anyReason(const api::List<api::ContainerStatus>& statuses,
               const std::vector<std::string>& reasons) {
  const auto listed = [&](const std::string& reason) {
    return std::ranges::find(reasons, reason) != reasons.end();
  };
  return std::ranges::any_of(statuses, [&](const api::ContainerStatus& status) {
    return (status.state.waiting && listed(status.state.waiting->reason)) ||
           (status.state.terminated && listed(status.state.terminated->reason));
  });
}

bool anyExitCode(const api::List<api::ContainerStatus>& statuses,
                 const std::vector<std::int64_t>& codes) {
  return std::ranges::any_of(statuses, [&](const api::ContainerStatus& status) {
    return status.state.terminated &&
           std::ranges::find(codes, status.state.terminated->exitCode) != codes.end();
  });
}

std::vector<std::int64_t> readExitCodes(Fields& args) {
  std::vector<std::int64_t> codes;
  const json::value* list = args.raw("exitCodes");
  if (!list) return codes;
  if (!list->is_array()) {
    args.error("exitCodes", "expected a list");
    return codes;
  }
  for (const json::value& code : list->get_array()) {
    if (code.is_int64()) {
      codes.push_back(code.get_int64());
    } else {
      args.error("exitCodes", fmt::format("expected an integer, got {}", toJson(code)));
    }
  }
  return codes;
}

bool ownedByAny(const Pod& pod, const std::vector<std::string>& kinds) {
  return std::ranges::any_of(pod.metadata.ownerReferences, [&](const auto& owner) {
    return std::ranges::find(kinds, owner.kind) != kinds.end();
  });
}

std::int64_t PluginBase::ageSeconds(const PodFacts& facts) const {
  const auto now = handle_.executor().wallNow().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count() - facts.createdAt;
}

Task<bool> PluginBase::evictOne(PodPtr pod) {
  if (!handle_.evictor().preEvictionFilter(*pod)) co_return false;
  auto task = handle_.evictor().evict(std::move(pod), {});
  const bool evicted = co_await task;
  co_return evicted;
}

Task<void> PluginBase::evictAll(std::vector<PodPtr> pods) {
  for (const PodPtr& pod : pods) {
    auto task = evictOne(pod);
    co_await task;
  }
}

}  // namespace koord::descheduler
