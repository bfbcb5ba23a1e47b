#include "manager/webhook/enhanced_validation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/log.h"
#include "manager/common/names.h"

namespace koord::manager {

namespace {

// Ignores case and surrounding blanks.
bool isTrueText(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  return sameIgnoringCase(text, "true");
}

}  // namespace

Result<PodRules> readPodRules(const api::ConfigMap& config) {
  PodRules rules;
  if (const auto* text = api::findIn(config.data, "rules")) {
    auto list = parseJson(*text);
    if (!list) return fail(std::move(list.error()).within("data[rules]"));
    json::object document;
    document["rules"] = *std::move(list);
    auto read = api::decode<PodRules>(json::value(std::move(document)), api::Reading::Go);
    if (!read) return fail(std::move(read.error()).within("data"));
    rules = *std::move(read);
  }
  const auto* enable = api::findIn(config.data, "enable");
  rules.enable = enable && isTrueText(*enable);
  return rules;
}

std::optional<std::string> checkPodRules(const PodRules& rules, const api::Pod& pod) {
  if (!rules.enable) return std::nullopt;
  const api::StringMap& labels = pod.metadata.labels;
  if (const auto* skip = api::findIn(labels, kLabelSkipEnhancedValidation); skip && *skip == "true")
    return std::nullopt;
  for (const auto& rule : rules.rules) {
    const std::string& ns = pod.metadata.namespace_;
    if (!ns.empty() &&
        std::ranges::find(rule.namespaceWhitelist, ns) != rule.namespaceWhitelist.end())
      continue;
    std::vector<std::string> missing;
    for (const auto& key : rule.requiredLabels)
      if (!labels.contains(key)) missing.push_back(key);
    if (missing.size() == 1) return fmt::format("required label '{}' is missing", missing.front());
    if (!missing.empty())
      return fmt::format("required labels are missing: [{}]", fmt::join(missing, " "));
  }
  return std::nullopt;
}

EnhancedValidation::EnhancedValidation(kube::Api& api, Executor& executor, Random random,
                                       Options options)
    : options_(std::move(options)),
      configs_(api, executor,
               {options_.configNamespace, "", "metadata.name=" + options_.configName},
               random.fork()) {
  configs_.addHandler({[this](const auto& config) { read(*config); },
                       [this](const auto&, const auto& config) { read(*config); },
                       [this](const auto&) { rules_ = {}; }});
}

void EnhancedValidation::start() {
  if (options_.enabled) configs_.start();
}

void EnhancedValidation::read(const api::ConfigMap& config) {
  auto rules = readPodRules(config);
  if (!rules) {
    log::error("ConfigMap {}/{}: {}; the last good rules stay in force", options_.configNamespace,
               options_.configName, rules.error().message);
    return;
  }
  rules_ = *std::move(rules);
}

std::optional<std::string> EnhancedValidation::check(const api::Pod& pod) const {
  return options_.enabled ? checkPodRules(rules_, pod) : std::nullopt;
}

}  // namespace koord::manager
