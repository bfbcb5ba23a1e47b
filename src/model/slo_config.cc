#include "model/slo_config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "model/config_merge.h"
#include "model/slo_config_documents.h"
#include "model/slo_section.h"
#include "model/well_known.h"

namespace koord::model {

namespace {

constexpr std::string_view kColocationReason = "ColocationCfgUnmarshalFailed";
constexpr std::string_view kSectionReason = "SLOCfgUnmarshalFailed";

using api::Reading;

// The entries for selected nodes, each merged over the cluster's strategy. What is wrong with one
// entry concerns only its own nodes: without a usable selector it matches nothing, without a usable
// strategy its nodes get the cluster's.
template <class Strategy>
Result<> readEntries(const std::vector<json::value>& entries, std::string_view listName,
                     NodeStrategies<Strategy>& into, std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", listName, i);
    auto head = api::decode<NodeEntry>(entries[i], Reading::Go);
    if (!head) return fail(std::move(head.error()).within(path));
    auto overlay = api::decode<Strategy>(entries[i], Reading::Go);
    if (!overlay) return fail(std::move(overlay.error()).within(path));
    auto selector = api::Selector::compile(head->nodeSelector);
    if (!selector) {
      notes.push_back(
          fmt::format("{}.nodeSelector: {}; the entry is skipped", path, selector.error().message));
      continue;
    }
    auto merged = merge(into.cluster, *overlay);
    if (auto ok = validate(merged); !ok) {
      notes.push_back(
          fmt::format("{}.{}; its nodes get the cluster's values", path, ok.error().message));
      merged = into.cluster;
    }
    into.nodes.push_back({head->name, *std::move(selector), std::move(merged)});
  }
  return {};
}

Result<NodeStrategies<ColocationStrategy>> readColocation(std::string_view text,
                                                          std::vector<std::string>& notes) {
  NodeStrategies<ColocationStrategy> strategies{defaultColocationStrategy(), {}};
  if (text.empty()) return strategies;
  auto parsed = parseJson(text);
  if (!parsed) return fail(std::move(parsed.error()));
  auto overlay = api::decode<ColocationStrategy>(*parsed, Reading::Go);
  if (!overlay) return fail(std::move(overlay.error()));
  auto document = api::decode<ColocationDocument>(*parsed, Reading::Go);
  if (!document) return fail(std::move(document.error()));
  strategies.cluster = merge(strategies.cluster, *overlay);
  if (auto ok = validate(strategies.cluster); !ok) return fail(std::move(ok.error()));
  if (auto ok = readEntries(document->nodeConfigs, "nodeConfigs", strategies, notes); !ok)
    return fail(std::move(ok.error()));
  return strategies;
}

template <class Strategy>
NodeStrategies<Strategy> defaultSection() {
  return {defaultStrategy<Strategy>(), {}};
}
template <>
NodeStrategies<std::vector<api::HostApplicationSpec>> defaultSection() {
  return {};
}

template <class Strategy>
Result<NodeStrategies<Strategy>> readSection(std::string_view text,
                                             std::vector<std::string>& notes) {
  auto document = api::decodeText<SectionDocument>(text, Reading::Go);
  if (!document) return fail(std::move(document.error()));
  auto overlay = api::decode<Strategy>(document->clusterStrategy, Reading::Go);
  if (!overlay) return fail(std::move(overlay.error()).within("clusterStrategy"));
  NodeStrategies<Strategy> strategies{merge(defaultStrategy<Strategy>(), *overlay), {}};
  if (auto ok = validate(strategies.cluster); !ok)
    return fail(std::move(ok.error()).within("clusterStrategy"));
  if (auto ok = readEntries(document->nodeStrategies, "nodeStrategies", strategies, notes); !ok)
    return fail(std::move(ok.error()));
  return strategies;
}

Result<std::vector<api::HostApplicationSpec>> readApplications(
    const std::vector<json::value>& documents, std::string_view path) {
  std::vector<api::HostApplicationSpec> applications;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    auto application = api::decode<api::HostApplicationSpec>(documents[i], Reading::Go);
    if (!application)
      return fail(std::move(application.error()).within(fmt::format("{}[{}]", path, i)));
    applications.push_back(*std::move(application));
  }
  return applications;
}

template <>
Result<NodeStrategies<std::vector<api::HostApplicationSpec>>> readSection(
    std::string_view text, std::vector<std::string>& notes) {
  NodeStrategies<std::vector<api::HostApplicationSpec>> strategies;
  auto document = api::decodeText<HostApplicationDocument>(text, Reading::Go);
  if (!document) return fail(std::move(document.error()));
  auto cluster = readApplications(document->applications, "applications");
  if (!cluster) return fail(std::move(cluster.error()));
  strategies.cluster = *std::move(cluster);
  for (std::size_t i = 0; i < document->nodeConfigs.size(); ++i) {
    const auto& entry = document->nodeConfigs[i];
    const std::string path = fmt::format("nodeConfigs[{}]", i);
    auto applications = readApplications(entry.applications, path + ".applications");
    if (!applications) return fail(std::move(applications.error()));
    auto selector = api::Selector::compile(entry.nodeSelector);
    if (!selector) {
      notes.push_back(
          fmt::format("{}.nodeSelector: {}; the entry is skipped", path, selector.error().message));
      continue;
    }
    strategies.nodes.push_back({entry.name, *std::move(selector), *std::move(applications)});
  }
  return strategies;
}

void report(std::vector<ConfigProblem>& problems, std::string_view reason, std::string_view key,
            const std::vector<std::string>& notes) {
  for (const auto& note : notes)
    problems.push_back({std::string(reason), fmt::format("{}: {}", key, note)});
}

// The CRD fills in these; written out, what is read back equals what was written.
void fillNetworkDefaults(api::ResourceQOSStrategy& strategy) {
  for (auto* qos : {&strategy.lsrClass, &strategy.lsClass, &strategy.beClass, &strategy.systemClass,
                    &strategy.cgroupRoot}) {
    if (!*qos || !(*qos)->networkQOS) continue;
    auto& network = *(*qos)->networkQOS;
    for (auto* request : {&network.ingressRequest, &network.egressRequest})
      if (!*request) *request = api::IntOrString{0, {}, false};
    for (auto* limit : {&network.ingressLimit, &network.egressLimit})
      if (!*limit) *limit = api::IntOrString{100, {}, false};
  }
}

// Lays a node's own strategy over another, field by field: a mistake in one concerns that one only.
void overlayFields(std::string_view text, ColocationStrategy& strategy,
                   std::vector<std::string>* problems) {
  const auto told = [&](std::string message) {
    if (problems)
      problems->push_back(
          fmt::format("metadata.annotations[{}]: {}", kAnnotationColocationStrategy, message));
  };
  const auto document = parseJson(text);
  if (!document) return told(document.error().message);
  const auto* fields = document->if_object();
  if (!fields) return document->is_null() ? void() : told("expected an object");
  for (const auto& field : *fields) {
    const json::value one = json::object{{field.key(), field.value()}};
    const auto overlay = api::decode<ColocationStrategy>(one, Reading::Go);
    if (!overlay) {
      told(overlay.error().message);
      continue;
    }
    auto merged = merge(strategy, *overlay);
    if (const auto valid = validate(merged); !valid) {
      told(valid.error().message);
    } else {
      strategy = std::move(merged);
    }
  }
}

// A ratio label as a percentage, cut off; nothing when it is not a number of at least 0.
std::optional<std::int64_t> percentLabel(const api::StringMap& labels, std::string_view key) {
  const auto* text = api::findIn(labels, key);
  if (!text) return std::nullopt;
  double ratio = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), ratio);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  if (!std::isfinite(ratio) || ratio < 0 || ratio > 1e9) return std::nullopt;
  return static_cast<std::int64_t>(ratio * 100);
}

}  // namespace

ConfigUpdate ColocationConfig::update(const api::ConfigMap* configMap) {
  ConfigUpdate update;
  if (!configMap) {
    if (available_) return update;
    strategies_ = {defaultColocationStrategy(), {}};
    available_ = broken_ = update.changed = true;
    return update;
  }
  const auto* section = api::findIn(configMap->data, "colocation-config");
  const std::string_view text = section ? std::string_view(*section) : std::string_view();
  if (available_ && !broken_ && text == text_) return update;
  std::vector<std::string> notes;
  auto read = readColocation(text, notes);
  if (!read) {
    broken_ = true;
    update.problems.push_back(
        {std::string(kColocationReason),
         fmt::format("colocation-config: {}; the last good section stays in force",
                     read.error().message)});
    return update;
  }
  report(update.problems, kColocationReason, "colocation-config", notes);
  update.changed = !available_ || broken_ || text != text_;
  strategies_ = *std::move(read);
  text_ = text;
  available_ = true;
  broken_ = false;
  return update;
}

ColocationStrategy ColocationConfig::strategyOf(const api::ObjectMeta& node,
                                                std::vector<std::string>* problems) const {
  ColocationStrategy strategy = strategies_.of(node.labels);
  if (const auto* text = api::findIn(node.annotations, kAnnotationColocationStrategy))
    overlayFields(*text, strategy, problems);
  const auto override = [&](std::string_view label, std::optional<std::int64_t>& percent) {
    if (const auto value = percentLabel(node.labels, label)) percent = value;
  };
  override(kLabelCpuReclaimRatio, strategy.cpuReclaimThresholdPercent);
  override(kLabelMemoryReclaimRatio, strategy.memoryReclaimThresholdPercent);
  override(kLabelMidStaticCpuReservedRatio, strategy.midStaticCPUReservedPercent);
  override(kLabelMidStaticMemoryReservedRatio, strategy.midStaticMemoryReservedPercent);
  return strategy;
}

NodeSloConfig::NodeSloConfig()
    : threshold_{defaultSection<api::ResourceThresholdStrategy>(), {}},
      qos_{defaultSection<api::ResourceQOSStrategy>(), {}},
      burst_{defaultSection<api::CPUBurstStrategy>(), {}},
      system_{defaultSection<api::SystemStrategy>(), {}} {}

template <class Strategy>
void NodeSloConfig::load(Section<Strategy>& section, std::string_view key,
                         const api::StringMap& data, ConfigUpdate& update) {
  const auto* text = api::findIn(data, key);
  if (!text) {
    if (section.text || section.unknown) update.changed = true;
    section = {defaultSection<Strategy>(), {}};
    return;
  }
  if (section.text == *text) return;
  std::vector<std::string> notes;
  auto read = readSection<Strategy>(*text, notes);
  if (!read) {
    section.unknown |= first_;
    update.problems.push_back(
        {std::string(kSectionReason),
         fmt::format("{}: {}; the last good section stays in force", key, read.error().message)});
    return;
  }
  report(update.problems, kSectionReason, key, notes);
  section = {*std::move(read), *text};
  update.changed = true;
}

ConfigUpdate NodeSloConfig::update(const api::ConfigMap* configMap) {
  ConfigUpdate update;
  if (!configMap && available_) return update;
  update.changed = first_ = !available_;
  available_ = true;
  if (!configMap) return update;
  load(threshold_, "resource-threshold-config", configMap->data, update);
  load(qos_, "resource-qos-config", configMap->data, update);
  load(burst_, "cpu-burst-config", configMap->data, update);
  load(system_, "system-config", configMap->data, update);
  load(applications_, "host-application-config", configMap->data, update);
  return update;
}

json::value NodeSloConfig::systemOf(const api::ObjectMeta& node, std::string* problem) const {
  api::SystemStrategy system = system_.strategies.of(node.labels);
  if (const auto* text = api::findIn(node.annotations, kAnnotationNetworkBandwidth)) {
    if (auto bandwidth = Quantity::parse(*text)) {
      system.totalNetworkBandwidth = *std::move(bandwidth);
    } else if (problem) {
      *problem = fmt::format("metadata.annotations[{}]: {}", kAnnotationNetworkBandwidth,
                             bandwidth.error().message);
    }
  }
  return api::encode(system);
}

api::NodeSLOSpec NodeSloConfig::specOf(const api::ObjectMeta& node, const api::NodeSLOSpec& old,
                                       std::string* problem) const {
  api::NodeSLOSpec spec = old;
  // What there is of a section that cannot be read stays.
  const auto keeps = [](const auto& section, const json::value& there) {
    return section.unknown && !there.is_null();
  };
  if (!threshold_.unknown || !old.resourceUsedThresholdWithBE)
    spec.resourceUsedThresholdWithBE = threshold_.strategies.of(node.labels);
  if (!keeps(qos_, old.resourceQOSStrategy)) {
    api::ResourceQOSStrategy qos = qos_.strategies.of(node.labels);
    fillNetworkDefaults(qos);
    spec.resourceQOSStrategy = api::encode(qos);
  }
  if (!keeps(burst_, old.cpuBurstStrategy))
    spec.cpuBurstStrategy = api::encode(burst_.strategies.of(node.labels));
  if (!keeps(system_, old.systemStrategy)) spec.systemStrategy = systemOf(node, problem);
  if (!keeps(applications_, old.hostApplications)) {
    json::array applications;
    for (const auto& application : applications_.strategies.of(node.labels))
      applications.push_back(api::encode(application));
    spec.hostApplications =
        applications.empty() ? json::value() : json::value(std::move(applications));
  }
  // As upstream writes it, and as older koordlets read it.
  if (spec.extensions.is_null()) spec.extensions = json::object{{"Object", json::object()}};
  return spec;
}

}  // namespace koord::model
