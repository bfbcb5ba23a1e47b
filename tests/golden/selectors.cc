#include "api/selector.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "golden/checkers.h"

namespace koord::golden {
namespace {

using api::Selector;

api::StringMap labelsOf(const json::object& sample) {
  api::StringMap labels;
  if (const auto* members = sample.if_contains("labels"))
    for (const auto& member : members->as_object())
      labels.emplace(std::string(member.key()), std::string(member.value().as_string()));
  return labels;
}

std::string nameOf(const json::object& sample) {
  return std::string(sample.at("name").as_string());
}

// The recorded samples, each with what `evaluate` says about it.
template <class Fn>
json::array samples(const json::object& testCase, Fn evaluate) {
  json::array out;
  for (const auto& item : testCase.at("matches").as_array()) {
    json::object sample = item.as_object();
    for (const auto* output : {"match", "error", "score"}) sample.erase(output);
    evaluate(sample);
    out.push_back(std::move(sample));
  }
  return out;
}

json::object labelOutcome(const json::object& testCase, const Result<Selector>& selector) {
  if (!selector) return {{"valid", false}};
  return {{"valid", true},
          {"empty", selector->empty()},
          {"string", selector->toString()},
          {"matches", samples(testCase, [&](json::object& sample) {
             sample["match"] = selector->matches(labelsOf(sample));
           })}};
}

Result<json::object> labelSelector(const json::object& testCase) {
  const auto& given = testCase.at("selector");
  if (given.is_null()) return labelOutcome(testCase, Selector::nothing());
  auto object = api::decode<api::LabelSelector>(given);
  if (!object) return fail(std::move(object.error()));
  return labelOutcome(testCase, Selector::compile(*object));
}

Result<json::object> fieldString(const json::object& testCase) {
  const auto selector =
      api::FieldSelector::parse(std::string_view(testCase.at("selector").as_string()));
  if (!selector) return json::object{{"valid", false}};
  json::array requirements;
  for (const auto& requirement : selector->requirements())
    requirements.push_back({{"field", requirement.field},
                            {"op", requirement.equal ? "=" : "!="},
                            {"value", requirement.value}});
  return json::object{{"valid", true},
                      {"empty", selector->empty()},
                      {"string", selector->toString()},
                      {"requirements", std::move(requirements)},
                      {"matches", samples(testCase, [&](json::object& sample) {
                         sample["match"] = selector->matches([&](const std::string& field) {
                           return std::string(textAt(sample.at("fields"), field));
                         });
                       })}};
}

void setMatch(json::object& sample, const Result<bool>& match) {
  sample["match"] = match.value_or(false);
  sample["error"] = !match.has_value();
}

Result<api::NodeAffinity> nodeAffinity(std::string_view part, const json::value& value) {
  json::object inner;
  inner[part] = value;
  auto affinity = api::decode<api::Affinity>(json::object{{"nodeAffinity", std::move(inner)}});
  if (!affinity) return fail(std::move(affinity.error()));
  return *affinity->nodeAffinity;
}

Result<json::object> nodeSelector(const json::object& testCase) {
  const json::value selector{{"nodeSelectorTerms", testCase.at("terms")}};
  auto affinity = nodeAffinity("requiredDuringSchedulingIgnoredDuringExecution", selector);
  if (!affinity) return fail(std::move(affinity.error()));
  const auto& object = *affinity->requiredDuringSchedulingIgnoredDuringExecution;
  const auto lazy = api::NodeSelectorMatcher::compileLazily(object);
  return json::object{{"valid", api::NodeSelectorMatcher::compile(object).has_value()},
                      {"matches", samples(testCase, [&](json::object& sample) {
                         setMatch(sample, lazy.matches(labelsOf(sample), nameOf(sample)));
                       })}};
}

Result<json::object> requiredNodeAffinity(const json::object& testCase) {
  auto spec = api::decode<api::PodSpec>(testCase.at("spec"));
  if (!spec) return fail(std::move(spec.error()));
  const api::RequiredNodeAffinity required(*spec);
  return json::object{{"matches", samples(testCase, [&](json::object& sample) {
                         setMatch(sample, required.matches(labelsOf(sample), nameOf(sample)));
                       })}};
}

Result<json::object> preferredTerms(const json::object& testCase) {
  auto affinity =
      nodeAffinity("preferredDuringSchedulingIgnoredDuringExecution", testCase.at("terms"));
  if (!affinity) return fail(std::move(affinity.error()));
  const auto terms =
      api::PreferredNodeTerms::compile(affinity->preferredDuringSchedulingIgnoredDuringExecution);
  if (!terms) return json::object{{"valid", false}};
  return json::object{{"valid", true}, {"matches", samples(testCase, [&](json::object& sample) {
                                          sample["score"] =
                                              terms->score(labelsOf(sample), nameOf(sample));
                                        })}};
}

Result<json::object> evaluateSelectors(const json::object& testCase) {
  const std::string_view op = testCase.at("op").as_string();
  if (op == "labelString")
    return labelOutcome(testCase,
                        Selector::parse(std::string_view(testCase.at("selector").as_string())));
  if (op == "labelSelector") return labelSelector(testCase);
  if (op == "fieldString") return fieldString(testCase);
  if (op == "nodeSelector") return nodeSelector(testCase);
  if (op == "requiredNodeAffinity") return requiredNodeAffinity(testCase);
  if (op == "preferredTerms") return preferredTerms(testCase);
  return fail(ErrorCode::Invalid, fmt::format("unknown op \"{}\"", op));
}

}  // namespace

Checker selectorsChecker() {
  return {
      .file = "selectors",
      .inputs = {"op", "selector", "terms", "spec"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateSelectors; },
  };
}

}  // namespace koord::golden
