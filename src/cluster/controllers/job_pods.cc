#include "cluster/controllers/job_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace koord::cluster {

namespace {

constexpr int kMaxIndexes = 100'000;

std::optional<int> numberOf(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > kMaxIndexes)
    return std::nullopt;
  return value;
}

// The container whose exit code matches the rule.
const api::ContainerStatus* matching(const api::PodFailureExitCodes& rule, const api::Pod& pod) {
  for (const auto* list : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const auto& container : *list) {
      const auto& ended = container.state.terminated;
      if (!ended || ended->exitCode == 0) continue;
      if (!rule.containerName.empty() && rule.containerName != container.name) continue;
      const bool listed = std::ranges::find(rule.values, ended->exitCode) != rule.values.end();
      if (listed == (rule.operator_ == "In")) return &container;
    }
  return nullptr;
}

const api::PodCondition* matching(const std::vector<api::PodFailureCondition>& rules,
                                  const api::Pod& pod) {
  for (const auto& rule : rules)
    for (const auto& condition : pod.status.conditions)
      if (condition.type == rule.type &&
          condition.status == (rule.status.empty() ? "True" : rule.status))
        return &condition;
  return nullptr;
}

}  // namespace

bool isIndexed(const api::Job& job) {
  return job.spec.completionMode == "Indexed" && job.spec.completions.has_value();
}

int completionIndex(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, kCompletionIndex);
  return text ? numberOf(*text).value_or(-1) : -1;
}

std::set<int> parseIndexes(const std::string& text) {
  std::set<int> indexes;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto dash = item.find('-');
    const auto low = numberOf(item.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : numberOf(item.substr(dash + 1));
    if (!low || !high) return {};
    for (int i = *low; i <= *high; ++i) indexes.insert(i);
  }
  return indexes;
}

std::string formatIndexes(const std::set<int>& indexes) {
  std::string out;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const int low = *it;
    int high = low;
    while (++it != indexes.end() && *it == high + 1) ++high;
    if (!out.empty()) out += ',';
    out += fmt::format("{}", low);
    if (high > low) out += fmt::format("{}{}", high == low + 1 ? ',' : '-', high);
  }
  return out;
}

PodFailure judgeFailure(const api::JobSpec& spec, const api::Pod& pod) {
  if (!spec.podFailurePolicy) return {};
  const auto key = api::keyOf(pod.metadata).toString();
  const auto& rules = spec.podFailurePolicy->rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    if (rule.onExitCodes) {
      if (const auto* container = matching(*rule.onExitCodes, pod))
        return {rule.action,
                fmt::format("Container {} for pod {} failed with exit code {} matching {} rule at "
                            "index {}",
                            container->name, key, container->state.terminated->exitCode,
                            rule.action, i)};
    } else if (const auto* condition = matching(rule.onPodConditions, pod)) {
      return {rule.action, fmt::format("Pod {} has condition {} matching {} rule at index {}", key,
                                       condition->type, rule.action, i)};
    }
  }
  return {};
}

}  // namespace koord::cluster
