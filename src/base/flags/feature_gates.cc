#include "base/flags/feature_gates.h"

#include <fmt/format.h>

#include "base/flags/go_values.h"
#include "base/split.h"

namespace koord::flags {

namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

// The gate that speaks for all of a stage; "" = there is none.
std::string_view allOf(std::string_view stage) {
  return stage == "ALPHA" ? kAllAlpha : stage == "BETA" ? kAllBeta : std::string_view();
}

bool isGroupGate(std::string_view name) {
  return name == kAllAlpha || name == kAllBeta;
}

}  // namespace

FeatureGates::FeatureGates(std::vector<FeatureGate> gates) {
  gates.push_back({std::string(kAllAlpha), "ALPHA", false, false});
  gates.push_back({std::string(kAllBeta), "BETA", false, false});
  for (auto& gate : gates) {
    std::string name = gate.name;
    gates_.insert_or_assign(std::move(name), std::move(gate));
  }
}

Result<> FeatureGates::set(std::string_view text) {
  auto values = set_;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (trim(item).empty()) continue;
    const auto equals = item.find('=');
    const std::string_view name = trim(item.substr(0, equals));
    if (equals == item.npos)
      return fail(ErrorCode::Invalid, fmt::format("missing bool value for {}", name));
    const std::string_view value = trim(item.substr(equals + 1));
    const auto parsed = parseBool(value);
    if (!parsed)
      return fail(ErrorCode::Invalid, fmt::format("invalid value of {}={}, err: {}", name, value,
                                                  parsed.error().message));
    if (!gates_.contains(name))
      return fail(ErrorCode::Invalid, fmt::format("unrecognized feature gate: {}", name));
    values.insert_or_assign(std::string(name), *parsed);
  }
  set_ = std::move(values);
  return {};
}

bool FeatureGates::requested(std::string_view name) const {
  const auto gate = gates_.find(name);
  if (gate == gates_.end()) return false;
  if (const auto said = set_.find(name); said != set_.end()) return said->second;
  if (!isGroupGate(name))
    if (const auto all = set_.find(allOf(gate->second.stage)); all != set_.end())
      return all->second;
  return gate->second.byDefault;
}

bool FeatureGates::enabled(std::string_view name) const {
  const auto gate = gates_.find(name);
  return gate != gates_.end() && gate->second.present && requested(name);
}

std::vector<std::string> FeatureGates::withoutEffect() const {
  std::vector<std::string> items;
  for (const auto& [name, value] : set_) {
    bool idle = !gates_.find(name)->second.present && value != gates_.find(name)->second.byDefault;
    if (isGroupGate(name)) {
      idle = false;
      for (const auto& [other, gate] : gates_)
        idle = idle || (allOf(gate.stage) == name && other != name && !gate.present &&
                        !set_.contains(other) && gate.byDefault != value);
    }
    if (idle) items.push_back(fmt::format("{}={}", name, value));
  }
  return items;
}

std::vector<std::string> FeatureGates::missingRequested() const {
  std::vector<std::string> names;
  for (const auto& [name, gate] : gates_)
    if (!gate.present && !isGroupGate(name) && requested(name)) names.push_back(name);
  return names;
}

std::map<std::string, bool> FeatureGates::all() const {
  std::map<std::string, bool> all;
  for (const auto& [name, gate] : gates_) all.emplace(name, requested(name));
  return all;
}

std::string FeatureGates::help() const {
  std::string text;
  for (const auto& [name, gate] : gates_) {
    if (!gate.present) continue;
    text += fmt::format("{}{}=true|false ({}default={})", text.empty() ? "" : "\n", name,
                        gate.stage.empty() ? "" : gate.stage + " - ", gate.byDefault);
  }
  return text;
}

std::string FeatureGates::text() const {
  std::string text;
  for (const auto& [name, value] : set_)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

}  // namespace koord::flags
