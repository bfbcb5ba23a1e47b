#include "apiserver/metricsapi/metrics_api.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "api/slo.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/match.h"
#include "apiserver/server/target.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr const char* kVersion = "v1beta1";
constexpr const char* kNodeMetrics = "nodemetrics.slo.koordinator.sh";
// The index in the selectable fields of pods (registry/builtin_resources.cc).
constexpr std::size_t kNodeNameField = 0;
constexpr std::size_t kPhaseField = 5;
constexpr Duration kDefaultWindow = std::chrono::minutes(5);

ResourcePtr makeResource(const char* plural, const char* kind, bool namespaced) {
  Resource resource;
  resource.group = kMetricsGroup;
  resource.plural = plural;
  resource.kind = kind;
  resource.listKind = resource.kind + "List";
  resource.namespaced = namespaced;
  resource.readOnly = true;
  resource.table = resource.qualified();
  resource.versions.push_back({.name = kVersion});
  return std::make_shared<const Resource>(std::move(resource));
}

std::optional<api::NodeMetric> reportOf(std::string_view node, Store& store) {
  const auto entry = store.table(kNodeMetrics).find(node);
  if (!entry) return std::nullopt;
  auto metric = api::decodeText<api::NodeMetric>(entry->text);
  if (!metric || !metric->status.updateTime) return std::nullopt;
  return *std::move(metric);
}

Duration windowOf(const api::NodeMetric& metric) {
  const auto& policy = metric.spec.metricCollectPolicy;
  return policy && policy->aggregateDurationSeconds
             ? Duration(std::chrono::seconds(*policy->aggregateDurationSeconds))
             : kDefaultWindow;
}

json::object usageText(const api::ResourceMap& usage) {
  json::object out;
  for (const auto* name : {"cpu", "memory"})
    if (const auto it = usage.resources.find(name); it != usage.resources.end())
      out[name] = it->second.toString();
  return out;
}

// The members that both kinds share; the labels are those of the node or pod itself.
json::object frame(const Entry& entry, const char* kind, const api::NodeMetric& metric) {
  json::object metadata{{"name", entry.name()}};
  if (!entry.namespace_().empty()) metadata["namespace"] = entry.namespace_();
  metadata["creationTimestamp"] = formatTime(*metric.status.updateTime);
  json::object labels;
  for (const auto& [key, value] : entry.labels) labels[key] = value;
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  return {{"kind", kind},
          {"apiVersion", fmt::format("{}/{}", kMetricsGroup, kVersion)},
          {"metadata", std::move(metadata)},
          {"timestamp", formatTime(*metric.status.updateTime)},
          {"window", formatDuration(windowOf(metric))}};
}

std::string containerNames(const Entry& pod) {
  std::string out;
  const auto object = parseJson(pod.text);
  const auto* spec = object ? find(*object, "spec") : nullptr;
  if (const auto* containers = spec ? arrayAt(*spec, "containers") : nullptr)
    for (const auto& container : *containers) {
      if (!out.empty()) out += '+';
      out += textAt(container, "name");
    }
  return out;
}

// The reports of the requested nodes, each read once.
class Reports {
 public:
  explicit Reports(Store& store) : store_(store) {}

  const api::NodeMetric* of(const std::string& node) {
    auto [it, fresh] = reports_.try_emplace(node);
    if (fresh) {
      it->second.metric = reportOf(node, store_);
      if (it->second.metric)
        for (const auto& pod : it->second.metric->status.podsMetric)
          it->second.pods[makeKey(pod.namespace_, pod.name)] = &pod.podUsage;
    }
    return it->second.metric ? &*it->second.metric : nullptr;
  }
  const api::ResourceMap* ofPod(const std::string& node, const std::string& key) {
    if (!of(node)) return nullptr;
    const auto& pods = reports_[node].pods;
    const auto it = pods.find(key);
    return it == pods.end() ? nullptr : it->second;
  }

 private:
  struct Report {
    std::optional<api::NodeMetric> metric;
    std::map<std::string, const api::ResourceMap*> pods;  // into metric
  };
  Store& store_;
  std::map<std::string, Report> reports_;
};

std::optional<json::object> nodeUsage(const Entry& node, Reports& reports) {
  const auto* metric = reports.of(std::string(node.name()));
  if (!metric || !metric->status.nodeMetric) return std::nullopt;
  auto out = frame(node, "NodeMetrics", *metric);
  out["usage"] = usageText(metric->status.nodeMetric->nodeUsage);
  return out;
}

std::optional<json::object> podUsage(const Entry& pod, Reports& reports) {
  const std::string& node = pod.fields[kNodeNameField];
  const std::string& phase = pod.fields[kPhaseField];
  // The last minute's report has it, but it does not use resources now.
  if (phase == "Succeeded" || phase == "Failed") return std::nullopt;
  const auto* usage = node.empty() ? nullptr : reports.ofPod(node, pod.key);
  if (!usage) return std::nullopt;
  auto out = frame(pod, "PodMetrics", *reports.of(node));
  out["containers"] =
      json::array{json::object{{"name", containerNames(pod)}, {"usage", usageText(*usage)}}};
  return out;
}

Outcome<std::string> metricsText(const Call& call, const Registry& registry, Store& store) {
  const auto& request = call.request;
  const bool pods = request.resource == "pods";
  if (request.version != kVersion || (!pods && request.resource != "nodes") ||
      !request.subresource.empty() || metricsResources(registry).empty())
    return refuse(ErrorCode::NotFound, "the server could not find the requested resource");
  if (request.verb != kube::Verb::List && request.verb != kube::Verb::Get)
    return refuse(ErrorCode::MethodNotAllowed,
                  "the server does not allow this method on the requested resource");
  // The pods and nodes themselves are looked up, their metrics second.
  kube::Request subject = request;
  subject.group = "";
  subject.version = "v1";
  auto target = findTarget(registry, store, subject);
  if (!target) return std::unexpected(std::move(target.error()));
  Reports reports(store);
  const auto usage = pods ? podUsage : nodeUsage;
  if (request.verb == kube::Verb::Get) {
    const auto key = makeKey(pods ? request.namespace_ : "", request.name);
    const auto entry = target->table->find(key);
    const auto found = entry ? usage(*entry, reports) : std::nullopt;
    if (!found)
      return refuse(ErrorCode::NotFound, fmt::format("{}metrics.{} \"{}\" not found",
                                                     pods ? "pod" : "node", kMetricsGroup, key));
    return toJson(*found);
  }
  auto match = Match::compile(subject, *target);
  if (!match) return std::unexpected(std::move(match.error()));
  json::array items;
  const auto [begin, end] = target->table->range(match->inNamespace());
  for (auto it = begin; it != end; ++it)
    if ((*match)(*it->second))
      if (auto found = usage(*it->second, reports)) items.push_back(*std::move(found));
  return toJson(json::object{{"kind", pods ? "PodMetricsList" : "NodeMetricsList"},
                             {"apiVersion", fmt::format("{}/{}", kMetricsGroup, kVersion)},
                             {"metadata", json::object{}},
                             {"items", std::move(items)}});
}

}  // namespace

std::vector<ResourcePtr> metricsResources(const Registry& registry) {
  if (!registry.findByTable(kNodeMetrics)) return {};
  return {makeResource("nodes", "NodeMetrics", false), makeResource("pods", "PodMetrics", true)};
}

Reply readMetrics(const Call& call, const Registry& registry, Store& store) {
  auto text = metricsText(call, registry, store);
  if (!text) return failureReply(std::move(text.error()), call.request);
  Reply reply;
  reply.body = bytesOf(*std::move(text));
  return reply;
}

}  // namespace koord::apiserver
