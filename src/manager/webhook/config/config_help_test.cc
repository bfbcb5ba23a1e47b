#include "manager/webhook/config/config_help.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "api/codec.h"
#include "api/slo_strategies.h"
#include "base/yaml.h"
#include "manager/webhook/config/config_rules.h"
#include "model/colocation_strategy.h"

namespace koord::manager {
namespace {

const ObjectHelp& sectionOf(std::string_view key) {
  static const auto kObjects = describeSloConfig();
  const auto found = std::ranges::find(kObjects, key, &ObjectHelp::name);
  if (found == kObjects.end()) throw std::out_of_range(std::string(key));
  return *found;
}

// "a.b[].c": the value becomes {"a": {"b": [{"c": value}]}}.
void put(json::value& document, std::string_view path, const json::value& value) {
  const auto dot = path.find('.');
  std::string name(path.substr(0, dot));
  const bool list = name.ends_with("[]");
  if (list) name.resize(name.size() - 2);
  if (!document.is_object()) document = json::object{};
  json::value* member = &document.get_object()[name];
  if (list) {
    if (!member->is_array()) *member = json::array{json::object{}};
    member = &member->get_array()[0];
  }
  if (dot == std::string_view::npos) {
    *member = value;
  } else {
    put(*member, path.substr(dot + 1), value);
  }
}

// All examples of a section as one document.
json::value examplesOf(std::string_view key) {
  json::value document = json::object{};
  for (const FieldHelp& help : sectionOf(key).help)
    if (!help.example.empty()) put(document, help.path, parseYaml(help.example).value());
  return document;
}

bool isExplained(std::string_view key, std::string_view path) {
  const auto& help = sectionOf(key).help;
  return std::ranges::find(help, path, &FieldHelp::path) != help.end();
}

template <class Strategy>
std::string strictError(const json::value& document) {
  const auto decoded = api::decode<Strategy>(document, api::Reading::Strict);
  return decoded ? "" : decoded.error().message;
}

TEST(SloConfigHelpTest, TheExamplesOfAllFieldsAreRead) {
  EXPECT_EQ(strictError<model::ColocationStrategy>(examplesOf("colocation-config")), "");
  EXPECT_EQ(strictError<api::ResourceThresholdStrategy>(examplesOf("resource-threshold-config")),
            "");
  EXPECT_EQ(strictError<api::ResourceQOSStrategy>(
                json::object{{"lsClass", examplesOf("resource-qos-config")}}),
            "");
  EXPECT_EQ(strictError<api::CPUBurstStrategy>(examplesOf("cpu-burst-config")), "");
  EXPECT_EQ(strictError<api::SystemStrategy>(examplesOf("system-config")), "");
  const json::value applications = examplesOf("host-application-config").at("applications");
  EXPECT_EQ(strictError<api::HostApplicationSpec>(applications.at(0)), "");
}

TEST(SloConfigHelpTest, TheExamplesBreakNoRule) {
  for (const auto& [key, rules] :
       {std::pair{"colocation-config", colocationRules()},
        std::pair{"resource-threshold-config", thresholdRules()},
        std::pair{"resource-qos-config", qosRules()}, std::pair{"cpu-burst-config", burstRules()},
        std::pair{"system-config", systemRules()}}) {
    Violations violations;
    findViolations(examplesOf(key), rules, "", violations);
    EXPECT_THAT(violations, testing::IsEmpty()) << key;
    for (const FieldRule& rule : rules) EXPECT_TRUE(isExplained(key, rule.path)) << rule.path;
  }
}

void collect(const json::value& schema, const std::string& path, std::set<std::string>& paths) {
  if (const json::value* items = find(schema, "items")) return collect(*items, path + "[]", paths);
  const json::value* properties = find(schema, "properties");
  if (!properties) return;
  for (const auto& [name, member] : properties->get_object()) {
    const std::string at = path.empty() ? std::string(name) : path + "." + std::string(name);
    paths.insert(at);
    collect(member, at, paths);
  }
}

TEST(SloConfigHelpTest, EveryFieldOfTheNodeSloDefinitionIsExplained) {
  std::ifstream file(KOORD_DEPLOY "/crds/slo.koordinator.sh_nodeslos.yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const json::value definition = parseYaml(text).value();
  const json::value& spec =
      definition.at_pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties");
  for (const auto& [key, pointer] :
       {std::pair{"resource-threshold-config", "/resourceUsedThresholdWithBE"},
        std::pair{"resource-qos-config", "/resourceQOSStrategy/properties/lsClass"},
        std::pair{"cpu-burst-config", "/cpuBurstStrategy"},
        std::pair{"system-config", "/systemStrategy"}}) {
    std::set<std::string> paths;
    collect(spec.at_pointer(pointer), "", paths);
    for (const std::string& path : paths)
      EXPECT_TRUE(isExplained(key, path)) << key << ": " << path << " has no help";
  }
}

}  // namespace
}  // namespace koord::manager
