#include <fmt/core.h>

#include <charconv>

#include "golden/checkers.h"
#include "koordlet/system/resctrl.h"

namespace koord::golden {
namespace {

namespace resctrl = koordlet::resctrl;

std::int64_t numberAt(const json::object& object, std::string_view name) {
  return object.at(name).to_number<std::int64_t>();
}

json::object l3MaskOf(const json::object& testCase) {
  const std::string cbm(testCase.at("cbm").as_string());
  std::int64_t all = 0;
  std::from_chars(cbm.data(), cbm.data() + cbm.size(), all, 16);
  const auto mask =
      resctrl::l3Mask(all, numberAt(testCase, "startPercent"), numberAt(testCase, "endPercent"));
  if (!mask) return {{"valid", false}};
  resctrl::Domains masks;
  for (const auto& id : testCase.at("cacheIds").as_array()) masks[id.to_number<int>()] = *mask;
  return {
      {"valid", true}, {"mask", fmt::format("{:x}", *mask)}, {"schemata", resctrl::l3Line(masks)}};
}

json::object bandwidthsOf(const json::object& testCase) {
  const std::int64_t percent = numberAt(testCase, "percent");
  const auto text = [&](bool absolute) {
    const auto value = resctrl::bandwidthOf({.absolute = absolute}, percent);
    return value ? std::to_string(*value) : std::string();
  };
  const std::int64_t amd = resctrl::bandwidthOf({.absolute = true}, percent).value_or(0);
  return {{"amd", text(true)},
          {"amdSchemata", resctrl::mbLine({{0, amd}, {1, amd}})},
          {"intel", text(false)},
          {"otherVendor", text(false)}};
}

json::object inJson(const resctrl::Domains& domains) {
  json::object object;
  for (const auto& [id, value] : domains) object[std::to_string(id)] = value;
  return object;
}

json::object parsed(const json::object& testCase) {
  const auto caches = numberAt(testCase, "l3Num");
  const auto schemata =
      resctrl::parseSchemata(std::string_view(testCase.at("text").as_string()),
                             caches < 0 ? std::nullopt : std::optional(static_cast<int>(caches)));
  if (!schemata) return {{"valid", false}};
  return {{"valid", true},
          {"l3", inJson(schemata->l3)},
          {"l3String", resctrl::l3Line(schemata->l3)},
          {"mb", inJson(schemata->mb)},
          {"mbString", resctrl::mbLine(schemata->mb)}};
}

Result<json::object> evaluateResctrl(const json::object& testCase) {
  const auto& op = testCase.at("op").as_string();
  if (op == "l3Mask") return l3MaskOf(testCase);
  if (op == "mba") return bandwidthsOf(testCase);
  if (op == "parse") return parsed(testCase);
  return fail(ErrorCode::Invalid, "unknown op");
}

// The line of the values that were read, whatever other lines there are.
std::optional<json::value> bandwidthLine(const json::object& testCase, std::string_view) {
  std::map<int, std::int64_t> values;
  for (const auto& [id, value] : testCase.at("mb").as_object())
    values[std::stoi(std::string(id))] = value.to_number<std::int64_t>();
  std::string line = "MB:";
  for (const auto& [id, value] : values) line += fmt::format("{}={};", id, value);
  return json::value(line + "\n");
}

}  // namespace

Checker koordletResctrlChecker() {
  return {
      .file = "koordlet_resctrl",
      // l3Valid and mbValid are about a number of caches that upstream keeps beside the values, and
      // that is not set here.
      .inputs = {"cacheIds", "cbm", "endPercent", "l3Num", "l3Valid", "mbValid", "op", "percent",
                 "startPercent", "text"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateResctrl; },
      .oracles = {{"bandwidthLine", bandwidthLine}},
  };
}

}  // namespace koord::golden
