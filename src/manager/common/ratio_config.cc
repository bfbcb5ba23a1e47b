#include "manager/common/ratio_config.h"

#include <fmt/format.h>

#include "model/config_merge.h"
#include "model/slo_config_documents.h"

namespace koord::manager {

namespace {

Result<> readFlag(const json::value& document, std::string_view name, bool& into) {
  const json::value* member = find(document, name);
  if (!member || member->is_null()) return {};
  if (!member->is_bool())
    return fail(ErrorCode::BadRequest, fmt::format("{}: expected true or false", name));
  into = member->get_bool();
  return {};
}

Result<> readRatio(const json::value& document, std::string_view name,
                   std::optional<double>& into) {
  const json::value* member = find(document, name);
  if (!member || member->is_null()) return {};
  into = realNumber(*member);
  if (!into) return fail(ErrorCode::BadRequest, fmt::format("{}: expected a number", name));
  return {};
}

// The members of an object; nullptr if it is absent.
Result<const json::object*> readObject(const json::value& document, std::string_view name) {
  static const json::object none;
  const json::value* member = find(document, name);
  if (!member || member->is_null()) return &none;
  if (!member->is_object())
    return fail(ErrorCode::BadRequest, fmt::format("{}: expected an object", name));
  return &member->get_object();
}

Result<> readStrategy(const json::value& document, CpuNormalization& into) {
  if (auto ok = readFlag(document, "enable", into.enabled); !ok) return ok;
  if (auto ok = readRatio(document, "defaultRatio", into.defaultRatio); !ok) return ok;
  const auto models = readObject(document, "ratioModel");
  if (!models) return fail(models.error());
  for (const auto& entry : **models) {
    CpuNormalization::Ratios ratios;
    for (const auto& [name, ratio] : kRatioFields)
      if (auto ok = readRatio(entry.value(), name, ratios.*ratio); !ok)
        return fail(
            std::move(ok.error()).within(fmt::format("ratioModel[{}]", std::string(entry.key()))));
    into.models[std::string(entry.key())] = ratios;
  }
  return {};
}

Result<> readStrategy(const json::value& document, Amplification& into) {
  if (auto ok = readFlag(document, "enable", into.enabled); !ok) return ok;
  const auto ratios = readObject(document, "resourceAmplificationRatio");
  if (!ratios) return fail(ratios.error());
  for (const auto& entry : **ratios) {
    const auto ratio = realNumber(entry.value());
    if (!ratio)
      return fail(ErrorCode::BadRequest,
                  fmt::format("resourceAmplificationRatio[{}]: expected a number",
                              std::string(entry.key())));
    into.ratios[std::string(entry.key())] = *ratio;
  }
  return {};
}

template <class Strategy>
Result<model::NodeStrategies<Strategy>> readRatioSection(std::string_view text) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  if (!document->is_object()) return fail(ErrorCode::BadRequest, "expected an object");
  const auto parts = api::decode<model::ColocationDocument>(*document, api::Reading::Go);
  if (!parts) return fail(parts.error());
  model::NodeStrategies<Strategy> strategies;
  document->get_object().erase("nodeConfigs");
  if (auto ok = readStrategy(*document, strategies.cluster); !ok)
    return fail(std::move(ok.error()));
  for (std::size_t i = 0; i < parts->nodeConfigs.size(); ++i) {
    const std::string path = fmt::format("nodeConfigs[{}]", i);
    const auto head = api::decode<model::NodeEntry>(parts->nodeConfigs[i], api::Reading::Go);
    if (!head) return fail(Error(head.error()).within(path));
    auto selector = api::Selector::compile(head->nodeSelector);
    // Without a selector its nodes get the cluster's values.
    if (!selector) continue;
    Strategy strategy;
    const json::value merged = model::mergeDocuments(*document, parts->nodeConfigs[i]);
    if (auto ok = readStrategy(merged, strategy); !ok)
      return fail(std::move(ok.error()).within(path));
    strategies.nodes.push_back({head->name, *std::move(selector), std::move(strategy)});
  }
  return strategies;
}

}  // namespace

template <class Strategy>
void RatioConfig::load(Section<Strategy>& section, std::string_view key, std::string_view reason,
                       const api::ConfigMap* configMap, model::ConfigUpdate& update) {
  const auto* text = configMap ? api::findIn(configMap->data, key) : nullptr;
  if (!text) {
    if (section.strategies && !section.text) return;
    section = {model::NodeStrategies<Strategy>(), std::nullopt};
    update.changed = true;
    return;
  }
  if (section.text == *text) return;
  auto read = readRatioSection<Strategy>(*text);
  if (!read) {
    update.problems.push_back(
        {std::string(reason),
         fmt::format("{}: {}; the last good section stays in force", key, read.error().message)});
    return;
  }
  section = {*std::move(read), *text};
  update.changed = true;
}

model::ConfigUpdate RatioConfig::update(const api::ConfigMap* configMap) {
  model::ConfigUpdate update;
  load(normalization_, "cpu-normalization-config", "CPUNormalizationCfgUnmarshalFailed", configMap,
       update);
  load(amplification_, "resource-amplification-config", "ResourceAmplificationCfgUnmarshalFailed",
       configMap, update);
  return update;
}

const CpuNormalization* RatioConfig::normalizationOf(const api::StringMap& nodeLabels) const {
  return normalization_.strategies ? &normalization_.strategies->of(nodeLabels) : nullptr;
}

const Amplification* RatioConfig::amplificationOf(const api::StringMap& nodeLabels) const {
  return amplification_.strategies ? &amplification_.strategies->of(nodeLabels) : nullptr;
}

}  // namespace koord::manager
