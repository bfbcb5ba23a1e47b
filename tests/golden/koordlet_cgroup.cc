#include <fmt/format.h>

#include "base/split.h"
#include "golden/checkers.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/cgroup_path.h"
#include "koordlet/system/conversions.h"
#include "koordlet/system/small_file.h"

namespace koord::golden {
namespace {

using koordlet::CgroupDriver;
using koordlet::CgroupFile;
using koordlet::CgroupVersion;

std::string_view textIfAny(const json::object& testCase, std::string_view name) {
  const auto* value = testCase.if_contains(name);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view{};
}

CgroupVersion versionOf(const json::object& testCase) {
  return testCase.at("v2").as_bool() ? CgroupVersion::V2 : CgroupVersion::V1;
}
CgroupDriver driverOf(const json::object& testCase) {
  return textIfAny(testCase, "driver") == "systemd" ? CgroupDriver::Systemd
                                                    : CgroupDriver::Cgroupfs;
}

// {<name>Valid, <name>} as the cases have them.
template <class T>
void put(json::object& result, std::string_view name, std::string_view validName,
         const Result<T>& value) {
  result[validName] = value.has_value();
  if (value) result[name] = *value;
}

json::object paths(const json::object& testCase) {
  const CgroupDriver driver = driverOf(testCase);
  koordlet::KubeQos qos = koordlet::KubeQos::Guaranteed;
  for (const auto one : {koordlet::KubeQos::Burstable, koordlet::KubeQos::BestEffort})
    if (textIfAny(testCase, "kubeQoS") == model::textOf(one)) qos = one;
  const std::string podName = koordlet::podDirName(driver, qos, textIfAny(testCase, "uid"));
  const std::string podDir = koordlet::podDir(driver, qos, textIfAny(testCase, "uid"));
  json::object result{
      {"qosDir", koordlet::qosDir(driver, qos)}, {"podDir", podDir}, {"podBaseName", podName}};
  put(result, "parsedPodID", "parsedPodIDValid", koordlet::parsePodDirName(driver, podName));
  const auto container = koordlet::containerDirName(driver, textIfAny(testCase, "containerID"));
  result["containerValid"] = container.has_value();
  if (!container) return result;
  const std::string dir = koordlet::joinPath(podDir, *container);
  const std::string base = dir.substr(dir.rfind('/') + 1);
  result["containerDir"] = dir;
  result["containerBaseName"] = base;
  put(result, "parsedContainerID", "parsedContainerIDValid",
      koordlet::parseContainerDirName(driver, base));
  return result;
}

// The text of a file after a write that the kernel does not reformat.
json::object write(const json::object& testCase) {
  const CgroupVersion version = versionOf(testCase);
  const auto file = koordlet::cgroupFileOfName(textIfAny(testCase, "resource"));
  json::object result{{"registered", file.has_value()}};
  if (!file) return result;
  const auto name = koordlet::fileNameIn(*file, version);
  const auto value = textIfAny(testCase, "value");
  const auto before = textIfAny(testCase, "before");
  result["registered"] = !name.empty();
  result["file"] = name;
  result["valueValid"] = koordlet::validateCgroupValue(*file, version, value).has_value();
  const auto encoded = koordlet::encodeCgroupValue(*file, version, value);
  const bool valid = encoded && koordlet::validateCgroupValue(*file, version, *encoded);
  result["ok"] = valid;
  const bool written = valid && !koordlet::sameCgroupValue(*file, version, before, *encoded);
  result["after"] = written ? std::string_view(*encoded) : before;
  return result;
}

Result<json::object> merge(const json::object& testCase) {
  const std::string_view condition = textIfAny(testCase, "condition");
  const CgroupFile file = condition == "ifCFSQuotaIsLarger" ? CgroupFile::CpuCfsQuota
                          : condition == "ifCPUSetIsLooser" ? CgroupFile::CpusetCpus
                                                            : CgroupFile::MemoryMin;
  const auto merged = koordlet::mergedValue(file, versionOf(testCase), textIfAny(testCase, "old"),
                                            textIfAny(testCase, "new"));
  json::object result{{"valid", merged.has_value()}};
  if (!merged) return result;
  result["needMerge"] = merged->has_value();
  if (*merged) result["merged"] = **merged;
  return result;
}

// "abc" of "containerd://abc".
std::optional<json::value> idOfContainerId(const json::object& testCase, std::string_view) {
  const auto id = textIfAny(testCase, "containerID");
  return json::value(id.substr(id.find("://") + 3));
}

// What is in cpu.max already is not written again: the field before the blank is the quota.
std::optional<json::value> unchangedQuota(const json::object& testCase, std::string_view) {
  const auto before = textIfAny(testCase, "before");
  const auto value = textIfAny(testCase, "value") == "-1" ? "max" : textIfAny(testCase, "value");
  if (before.substr(0, before.find(' ')) != value) return std::nullopt;
  return json::value(before);
}

Result<json::object> evaluateKoordletCgroup(const json::object& testCase) {
  const std::string_view op = textIfAny(testCase, "op");
  json::object result;
  if (op == "milliCPU") {
    const auto milli = testCase.at("milliCPU").to_number<std::int64_t>();
    return json::object{{"shares", koordlet::milliCpuToShares(milli)},
                        {"quota", koordlet::milliCpuToQuota(milli)}};
  }
  if (op == "sharesToWeight") {
    const auto given = textIfAny(testCase, "shares");
    const auto shares = koordlet::parseInt(given);
    const auto weight = shares && trim(given) == given ? koordlet::sharesToWeight(*shares)
                                                       : Result<std::int64_t>(fail(Error{}));
    result["shares"] = given;
    put(result, "weight", "valid", weight);
    return result;
  }
  if (op == "weightToShares") {
    result["weight"] = testCase.at("weight");
    put(result, "shares", "valid",
        koordlet::weightToShares(testCase.at("weight").to_number<std::int64_t>()));
    return result;
  }
  if (op == "cpuMax") {
    put(result, "quota", "quotaValid", koordlet::quotaOfCpuMax(textIfAny(testCase, "text")));
    put(result, "period", "periodValid", koordlet::periodOfCpuMax(textIfAny(testCase, "text")));
    return result;
  }
  if (op == "parseBase") {
    put(result, "podID", "podValid",
        koordlet::parsePodDirName(driverOf(testCase), textIfAny(testCase, "base")));
    put(result, "containerID", "containerValid",
        koordlet::parseContainerDirName(driverOf(testCase), textIfAny(testCase, "base")));
    return result;
  }
  if (op == "path") return paths(testCase);
  if (op == "write") return write(testCase);
  if (op == "merge") return merge(testCase);
  return fail(ErrorCode::Invalid, fmt::format("unknown op \"{}\"", op));
}

}  // namespace

Checker koordletCgroupChecker() {
  return {
      .file = "koordlet_cgroup",
      // shares and weight are outputs of some kinds of cases; where they are given, they are
      // repeated.
      .inputs = {"op", "milliCPU", "text", "driver", "base", "kubeQoS", "uid", "containerID",
                 "resource", "v2", "value", "before", "condition", "old", "new"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateKoordletCgroup; },
      .oracles = {{"idOfContainerID", idOfContainerId}, {"unchangedQuota", unchangedQuota}},
  };
}

}  // namespace koord::golden
