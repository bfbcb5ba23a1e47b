#include "manager/webhook/config/config_help.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "api/codec.h"
#include "api/member_names.h"
#include "api/slo_strategies.h"
#include "base/yaml.h"
#include "manager/common/ratio_config.h"
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

std::string publishedDefault(std::string_view key, std::string_view path) {
  const json::value document = toDocument(sectionOf(key));
  for (const json::value& field : document.at("fields").get_array())
    if (textAt(field, "path") == path) return std::string(textAt(field, "default"));
  return "no help";
}

TEST(SloConfigHelpTest, DefaultsOfTheQosClassesAreThoseOfKoordlet) {
  EXPECT_EQ(publishedDefault("resource-qos-config", "memoryQOS.throttlingPercent"), "0");
  EXPECT_EQ(publishedDefault("resource-qos-config", "cpuQOS.groupIdentity"),
            "LSR: 2, LS: 2, BE: -1, SYSTEM: 0");
  EXPECT_EQ(publishedDefault("resource-qos-config", "resctrlQOS.catRangeEndPercent"),
            "LSR: 100, LS: 100, BE: 30, SYSTEM: 100");
  EXPECT_EQ(publishedDefault("resource-qos-config", "blkioQOS.blocks[].ioCfg.ioWeightPercent"),
            "100");
  EXPECT_EQ(publishedDefault("resource-qos-config", "memoryQOS.pageCacheEnable"), "");
}

using Schemas = std::map<std::string, const json::value*>;  // by the path of the field

void collect(const json::value& schema, const std::string& path, Schemas& schemas) {
  if (const json::value* items = find(schema, "items"))
    return collect(*items, path + "[]", schemas);
  const json::value* properties = find(schema, "properties");
  if (!properties) return;
  for (const auto& [name, member] : properties->get_object()) {
    const std::string at = path.empty() ? std::string(name) : path + "." + std::string(name);
    schemas.emplace(at, &member);
    collect(member, at, schemas);
  }
}

std::string publishedType(std::string_view key, std::string_view path) {
  const json::value document = toDocument(sectionOf(key));
  for (const json::value& field : document.at("fields").get_array())
    if (textAt(field, "path") == path) return std::string(textAt(field, "type"));
  return "no help";
}

std::string typeIn(const json::value& schema) {
  if (find(schema, "x-kubernetes-int-or-string")) return "integer or string";
  const std::string_view type = textAt(schema, "type");
  return type == "array" ? "list of objects" : std::string(type);
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
    Schemas schemas;
    collect(spec.at_pointer(pointer), "", schemas);
    for (const auto& [path, schema] : schemas)
      EXPECT_EQ(publishedType(key, path), typeIn(*schema)) << key << ": " << path;
  }
}

TEST(SloConfigHelpTest, EveryFieldThatIsReadIsExplained) {
  for (const auto name : api::memberNames<model::ColocationStrategy>())
    EXPECT_TRUE(isExplained("colocation-config", name)) << name;
  for (const auto name : api::memberNames<api::HostApplicationSpec>())
    EXPECT_TRUE(isExplained("host-application-config", fmt::format("applications[].{}", name)))
        << name;
  for (const auto name : api::memberNames<api::CgroupPath>())
    EXPECT_TRUE(
        isExplained("host-application-config", fmt::format("applications[].cgroupPath.{}", name)))
        << name;
  for (const auto& [name, ratio] : kRatioFields)
    EXPECT_TRUE(isExplained("cpu-normalization-config", fmt::format("ratioModel.*.{}", name)))
        << name;
}

}  // namespace
}  // namespace koord::manager
