#include "descheduler/plugins/defaultevictor/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/codec.h"
#include "base/time.h"
#include "descheduler/rules/evictor_filter.h"
#include "descheduler/rules/pod_selectors.h"

namespace koord::descheduler {

namespace {

constexpr std::string_view kDefaults[] = {"PodsWithLocalStorage", "DaemonSetPods",
                                          "SystemCriticalPods", "FailedBarePods"};
constexpr std::string_view kExtra[] = {"PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"};

std::set<std::string> readProtections(Fields& fields, std::string_view list, auto& known) {
  std::set<std::string> out;
  const auto names = fields.texts(list);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", list, i);
    if (std::ranges::find(known, names[i]) == std::end(known)) {
      fields.error(at, fmt::format("Unsupported value: \"{}\": supported values: {}", names[i],
                                   fmt::join(known, ", ")));
    } else if (!out.insert(names[i]).second) {
      fields.error(at, fmt::format("Duplicate value: \"{}\"", names[i]));
    }
  }
  return out;
}

// The older flags that protections replace. Using both is an error.
void readLegacy(Fields& args, DefaultEvictorArgs& out, bool superseded) {
  const auto read = [&](std::string_view name, bool& protection, bool evicts) {
    if (superseded && args.has(name))
      args.error(name, "has no effect beside podProtections; remove it");
    const bool on = args.boolean(name, false);
    if (on) protection = !evicts;
  };
  read("evictLocalStoragePods", out.localStorage, true);
  read("evictDaemonSetPods", out.daemonSets, true);
  read("evictSystemCriticalPods", out.systemCritical, true);
  read("evictFailedBarePods", out.failedBare, true);
  read("ignorePvcPods", out.claims, false);
  read("ignorePodsWithoutPDB", out.withoutBudget, false);
}

void readProtectedClasses(Fields protections, DefaultEvictorArgs& out) {
  Fields config = protections.object("config");
  Fields claims = config.object("PodsWithPVC");
  for (Fields& item : claims.list("protectedStorageClasses")) {
    auto name = item.text("name");
    if (name.empty()) item.error("name", "Required value");
    item.refuseUnknown();
    out.protectedClasses.insert(std::move(name));
  }
  claims.refuseUnknown();
  config.refuseUnknown();
  if (!out.protectedClasses.empty() && !out.claims)
    protections.error("config.PodsWithPVC", "has no effect without PodsWithPVC in extraEnabled");
}

// Returns true if there are protections; then the older flags must be absent.
bool readPodProtections(Fields& args, DefaultEvictorArgs& out) {
  Fields protections = args.object("podProtections");
  const auto disabled = readProtections(protections, "defaultDisabled", kDefaults);
  const auto enabled = readProtections(protections, "extraEnabled", kExtra);
  out.localStorage = !disabled.contains("PodsWithLocalStorage");
  out.daemonSets = !disabled.contains("DaemonSetPods");
  out.systemCritical = !disabled.contains("SystemCriticalPods");
  out.failedBare = !disabled.contains("FailedBarePods");
  out.claims = enabled.contains("PodsWithPVC");
  out.withoutBudget = enabled.contains("PodsWithoutPDB");
  out.resourceClaims = enabled.contains("PodsWithResourceClaims");
  readProtectedClasses(protections, out);
  for (const std::string_view name : {"defaultDisabled", "extraEnabled", "config"})
    protections.raw(name);
  protections.refuseUnknown();
  return !disabled.empty() || !enabled.empty();
}

void readNamespaceLabels(Fields& args, DefaultEvictorArgs& out) {
  const json::value* document = args.raw("namespaceLabelSelector");
  if (!document) return;
  const auto selector = api::decode<api::LabelSelector>(*document, api::Reading::Strict);
  if (!selector) {
    args.error("namespaceLabelSelector", selector.error().message);
  } else if (!selector->matchExpressions.empty()) {
    args.error("namespaceLabelSelector.matchExpressions", "only matchLabels have an effect");
  } else {
    out.namespaceLabels = selector->matchLabels;
  }
}

}  // namespace

PriorityThreshold PriorityThreshold::read(Fields& args) {
  Fields fields = args.object("priorityThreshold");
  PriorityThreshold out;
  const bool given = fields.has("value");
  const auto value =
      fields.integer("value", 0, std::numeric_limits<std::int32_t>::min(), kSystemCriticalPriority);
  if (given) out.value = static_cast<std::int32_t>(value);
  out.name = fields.text("name");
  fields.refuseUnknown();
  if (out.value && !out.name.empty())
    args.error("priorityThreshold", "only one of value and name can be set");
  return out;
}

DefaultEvictorArgs DefaultEvictorArgs::read(Fields& args) {
  DefaultEvictorArgs out;
  if (const std::string text = args.text("nodeSelector"); !text.empty()) {
    auto selector = api::Selector::parse(text);
    if (!selector) args.error("nodeSelector", selector.error().message);
    if (selector) out.nodeSelector = *std::move(selector);
    out.effective.emplace("nodeSelector", text);
  }
  out.nodeFit = args.boolean("nodeFit", false);
  if (out.nodeSelector && !out.nodeFit) args.error("nodeSelector", "has no effect without nodeFit");
  readNamespaceLabels(args, out);
  out.labelSelector = readArgsSelector(args, "labelSelector");
  const PriorityThreshold threshold = PriorityThreshold::read(args);
  out.priorityThreshold = threshold.value;
  out.priorityClass = threshold.name;
  out.minReplicas = static_cast<std::uint32_t>(args.integer("minReplicas", 0, 0, 1'000'000));
  if (args.has("minPodAge")) out.minPodAge = args.duration("minPodAge", {});
  args.raw("minPodAge");
  if (out.minPodAge && *out.minPodAge < Duration::zero())
    args.error("minPodAge", "must not be negative");
  const std::string policy = args.text("noEvictionPolicy");
  if (!policy.empty() && policy != "Mandatory" && policy != "Preferred")
    args.error(
        "noEvictionPolicy",
        fmt::format("Unsupported value: \"{}\": supported values: Mandatory, Preferred", policy));
  out.protectsPreferNoEviction = policy == "Mandatory";
  const bool protections = readPodProtections(args, out);
  readLegacy(args, out, protections);
  for (const std::string_view field :
       {"nodeFit", "namespaceLabelSelector", "labelSelector", "priorityThreshold", "minReplicas",
        "minPodAge", "noEvictionPolicy", "podProtections", "evictLocalStoragePods",
        "evictDaemonSetPods", "evictSystemCriticalPods", "evictFailedBarePods", "ignorePvcPods",
        "ignorePodsWithoutPDB"})
    if (const json::value* given = args.raw(field)) out.effective.emplace(field, *given);
  return out;
}

}  // namespace koord::descheduler
