#include "manager/webhook/config/config_checks.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "api/codec.h"
#include "manager/webhook/config/config_rules.h"
#include "manager/webhook/config/network_checks.h"
#include "model/colocation_strategy.h"
#include "model/slo_config_documents.h"

namespace koord::manager {

namespace {

using api::Reading;

// A section's format, and the names of its parts in error messages.
struct SectionKind {
  std::string_view key;
  std::string_view title;    // "Failed to parse <title> config"
  std::string_view goName;   // of the whole
  std::string_view goField;  // of the cluster's strategy
  std::string_view goEntry;  // of the strategy inside an entry
  bool colocation;           // the strategy's fields are beside its entries
  // Adds violations to `into`; fails if the strategy cannot be decoded.
  Result<> (*check)(const json::value& strategy, const std::string& goPrefix, Violations& into);
};

template <class Strategy>
Result<> checkPlain(const json::value& document, std::span<const FieldRule> rules,
                    const std::string& goPrefix, Violations& into) {
  const auto strategy = api::decode<Strategy>(document, Reading::Go);
  if (!strategy) return fail(strategy.error());
  findViolations(api::encode(*strategy), rules, goPrefix, into);
  return {};
}

Result<> checkQosStrategy(const json::value& document, const std::string& goPrefix,
                          Violations& into) {
  const auto strategy = api::decode<api::ResourceQOSStrategy>(document, Reading::Go);
  if (!strategy) return fail(strategy.error());
  const json::value written = api::encode(*strategy);
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"lsrClass", "LSRClass"},
      {"lsClass", "LSClass"},
      {"beClass", "BEClass"},
      {"systemClass", "SystemClass"},
      {"cgroupRoot", "CgroupRoot"}};
  for (const auto& [name, goName] : kClasses)
    if (const auto* qos = find(written, name))
      findViolations(*qos, qosRules(), fmt::format("{}{}.", goPrefix, goName), into);
  return {};
}

constexpr SectionKind kKinds[] = {
    {"colocation-config", "colocation", "ColocationCfg", "ColocationStrategy", "ColocationStrategy",
     true,
     [](const json::value& d, const std::string& p, Violations& v) {
       return checkPlain<model::ColocationStrategy>(d, colocationRules(), p, v);
     }},
    {"resource-threshold-config", "resourceThreshold", "ResourceThresholdCfg", "ClusterStrategy",
     "ResourceThresholdStrategy", false,
     [](const json::value& d, const std::string& p, Violations& v) {
       return checkPlain<api::ResourceThresholdStrategy>(d, thresholdRules(), p, v);
     }},
    {"resource-qos-config", "ResourceQOS", "ResourceQOSCfg", "ClusterStrategy",
     "ResourceQOSStrategy", false, checkQosStrategy},
    {"system-config", "System", "SystemCfg", "ClusterStrategy", "SystemStrategy", false,
     [](const json::value& d, const std::string& p, Violations& v) {
       return checkPlain<api::SystemStrategy>(d, systemRules(), p, v);
     }},
    {"cpu-burst-config", "CpuBurst", "CPUBurstCfg", "ClusterStrategy", "CPUBurstStrategy", false,
     [](const json::value& d, const std::string& p, Violations& v) {
       return checkPlain<api::CPUBurstStrategy>(d, burstRules(), p, v);
     }},
};

Result<> mistake(std::string_view reason, json::value message) {
  json::object error;
  error["reason"] = json::string(reason.data(), reason.size());
  error["message"] = std::move(message);
  return fail(ErrorCode::Invalid, fmt::format("___{}___", toJson(error)));
}

Result<> invalid(std::string message) {
  return mistake("ConfigParamInvalid", json::string(message));
}

// The parts of a section: documents of strategies, the cluster's first.
struct Parts {
  json::value cluster;
  std::vector<json::value> entries;
  std::vector<model::NodeEntry> heads;
};

Result<Parts> partsOf(const SectionKind& kind, std::string_view text) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  Parts parts;
  if (kind.colocation) {
    auto read = api::decode<model::ColocationDocument>(*document, Reading::Go);
    if (!read) return fail(std::move(read.error()));
    parts.entries = std::move(read->nodeConfigs);
    parts.cluster = *std::move(document);
  } else {
    auto read = api::decode<model::SectionDocument>(*document, Reading::Go);
    if (!read) return fail(std::move(read.error()));
    parts.entries = std::move(read->nodeStrategies);
    parts.cluster = std::move(read->clusterStrategy);
  }
  for (std::size_t i = 0; i < parts.entries.size(); ++i) {
    auto head = api::decode<model::NodeEntry>(parts.entries[i], Reading::Go);
    if (!head)
      return fail(std::move(head.error())
                      .within(fmt::format("{}[{}]",
                                          kind.colocation ? "nodeConfigs" : "nodeStrategies", i)));
    parts.heads.push_back(*std::move(head));
  }
  return parts;
}

Result<ConfigSection> sectionOf(const SectionKind& kind, const Parts& parts) {
  ConfigSection section{std::string(kind.key), {}};
  for (const auto& head : parts.heads) {
    if (!head.nodeSelector ||
        (head.nodeSelector->matchLabels.empty() && head.nodeSelector->matchExpressions.empty()))
      return fail(invalid(fmt::format("nodeConfigs NodeSelector must not empty error! configType: "
                                      "{},nodeConfig name:{}",
                                      kind.key, head.name))
                      .error());
    auto selector = api::Selector::compile(*head.nodeSelector);
    if (!selector)
      return fail(invalid(fmt::format("failed to parse node selector {},configType: "
                                      "{},nodeConfig name:{}, err: {}",
                                      toJson(api::encode(*head.nodeSelector)), kind.key, head.name,
                                      selector.error().message))
                      .error());
    section.entries.push_back({head.name, *head.nodeSelector, *std::move(selector)});
  }
  return section;
}

Result<> checkBounds(const SectionKind& kind, const Parts& parts, const api::ConfigMap& config) {
  const auto unreadable = [&](const Error& error) {
    return mistake("ParseConfigFail",
                   json::string(fmt::format("Failed to parse {} config in configmap {}/{}, err: {}",
                                            kind.title, config.metadata.namespace_,
                                            config.metadata.name, error.message)));
  };
  Violations violations;
  auto cluster =
      kind.check(parts.cluster, fmt::format("{}.{}.", kind.goName, kind.goField), violations);
  if (!cluster)
    return unreadable(kind.colocation ? cluster.error()
                                      : std::move(cluster.error()).within("clusterStrategy"));
  const std::string_view list = kind.colocation ? "nodeConfigs" : "nodeStrategies";
  const std::string_view goList = kind.colocation ? "NodeConfigs" : "NodeStrategies";
  for (std::size_t i = 0; i < parts.entries.size(); ++i) {
    auto entry =
        kind.check(parts.entries[i],
                   fmt::format("{}.{}[{}].{}.", kind.goName, goList, i, kind.goEntry), violations);
    if (!entry) return unreadable(std::move(entry.error()).within(fmt::format("{}[{}]", list, i)));
  }
  if (violations.empty()) return {};
  json::object message;
  for (const auto& [field, text] : violations) message[field] = text;
  return mistake("ConfigParamInvalid", std::move(message));
}

Result<> checkNames(const ConfigSection& section) {
  std::set<std::string> seen;
  for (const auto& entry : section.entries) {
    if (entry.name.empty())
      return invalid(fmt::format("nodeConfig Name need! configType:{}", section.key));
    if (!seen.insert(entry.name).second)
      return invalid(fmt::format("nodeConfig Name confilict, configType:{},nodeConfig Name:{}! ",
                                 section.key, entry.name));
  }
  return {};
}

Result<> competing(const ConfigSection& section, const api::StringMap& labels,
                   std::string_view reason, std::string_view node) {
  json::array names;
  for (const auto& entry : section.entries)
    if (entry.selector.matches(labels)) names.emplace_back(entry.name);
  if (names.size() < 2) return {};
  json::object message{{"config", section.key}, {"strategies", std::move(names)}};
  if (!node.empty()) message["exampleNodes"] = json::array{json::string(node.data(), node.size())};
  return mistake(reason, std::move(message));
}

// Tests generated nodes that an entry selects: all its labels, and one of the values of each
// expression. At most a few thousand nodes.
Result<> checkOverlap(const ConfigSection& section) {
  constexpr std::size_t kMaxNodes = 4096;
  for (const auto& entry : section.entries) {
    std::size_t count = 1;
    for (const auto& expression : entry.source.matchExpressions)
      if (!expression.values.empty()) count = std::min(count * expression.values.size(), kMaxNodes);
    for (std::size_t i = 0; i < count; ++i) {
      api::StringMap labels = entry.source.matchLabels;
      for (const auto& expression : entry.source.matchExpressions)
        if (!expression.values.empty())
          labels[expression.key] = expression.values[i % expression.values.size()];
      if (auto ok = competing(section, labels, "NodeStrategiesOverlap", ""); !ok) return ok;
    }
  }
  return {};
}

std::string_view textAtKey(const api::ConfigMap& config, std::string_view key) {
  const auto* text = api::findIn(config.data, key);
  return text ? std::string_view(*text) : std::string_view();
}

}  // namespace

Result<std::vector<ConfigSection>> checkConfig(const api::ConfigMap& config,
                                               const api::ConfigMap* old, bool namesRequired) {
  std::vector<ConfigSection> sections;
  for (const auto& kind : kKinds) {
    const std::string_view text = textAtKey(config, kind.key);
    if (text.empty() || (old && textAtKey(*old, kind.key) == text)) continue;
    auto parts = partsOf(kind, text);
    if (!parts)
      return fail(
          mistake("ParseConfigFail",
                  json::string(fmt::format("Failed to parse {} config in configmap {}/{}, err: {}",
                                           kind.title, config.metadata.namespace_,
                                           config.metadata.name, parts.error().message)))
              .error());
    auto section = sectionOf(kind, *parts);
    if (!section) return fail(std::move(section.error()));
    if (auto ok = checkBounds(kind, *parts, config); !ok) return fail(std::move(ok.error()));
    if (kind.key == "resource-qos-config")
      if (auto ok = checkNetwork(text, textAtKey(config, "system-config")); !ok)
        return fail(std::move(ok.error()));
    if (namesRequired)
      if (auto ok = checkNames(*section); !ok) return fail(std::move(ok.error()));
    if (auto ok = checkOverlap(*section); !ok) return fail(std::move(ok.error()));
    sections.push_back(*std::move(section));
  }
  return sections;
}

std::vector<ConfigSection> readSections(const api::ConfigMap& config) {
  std::vector<ConfigSection> sections;
  for (const auto& kind : kKinds) {
    const auto parts = partsOf(kind, textAtKey(config, kind.key));
    if (!parts) continue;
    if (auto section = sectionOf(kind, *parts)) sections.push_back(*std::move(section));
  }
  return sections;
}

Result<> checkNode(const std::vector<ConfigSection>& sections, const api::ObjectMeta& node) {
  for (const auto& section : sections)
    if (section.entries.size() > 1)
      if (auto ok = competing(section, node.labels, "ExistNodeConfict", node.name); !ok) return ok;
  return {};
}

}  // namespace koord::manager
