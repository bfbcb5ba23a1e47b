#include "scheduler/plugins/deviceshare/devices/request.h"
#include "model/node_names.h"
#include "model/well_known.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace koord::scheduler {

namespace {

constexpr std::string_view kGpuName = model::kGpu;
constexpr std::string_view kSharedName = model::kGpuShared;
constexpr std::string_view kCoreName = model::kGpuCore;
constexpr std::string_view kMemoryName = model::kGpuMemory;
constexpr std::string_view kRatioName = model::kGpuMemoryRatio;
constexpr std::string_view kNpuCore = model::kNpuCore;
constexpr std::string_view kNpuCpu = model::kNpuCpu;
constexpr std::string_view kNpuDvpp = model::kNpuDvpp;
constexpr std::string_view kRdmaName = model::kRdma;
constexpr std::string_view kFpgaName = model::kFpga;

// How amounts of a combination are checked.
enum class Check : std::uint8_t { None, Percent, Shared, NpuShared };
struct Combination {
  Check check = Check::None;
  std::vector<std::string_view> names;  // sorted
};

std::vector<Combination> combinations() {
  std::vector<Combination> all{
      {Check::None, {model::kNvidiaGpu}},
      {Check::None, {model::kAmdGpu}},
      {Check::None, {model::kDcuGpu}},
      {Check::None, {kGpuName}},
      {Check::Percent, {kMemoryName}},
      {Check::Percent, {kRatioName}},
      {Check::Percent, {kCoreName, kMemoryName}},
      {Check::Percent, {kCoreName, kRatioName}},
      {Check::Percent, {kNpuCore, kRatioName}},
      {Check::Shared, {kSharedName, kMemoryName}},
      {Check::Shared, {kSharedName, kRatioName}},
      {Check::Shared, {kSharedName, kCoreName, kMemoryName}},
      {Check::Shared, {kSharedName, kCoreName, kRatioName}},
      {Check::NpuShared, {kSharedName, kNpuCore, kNpuCpu, kMemoryName}},
      {Check::NpuShared, {kSharedName, kNpuCore, kNpuCpu, kNpuDvpp, kMemoryName}},
  };
  for (auto& each : all) std::ranges::sort(each.names);
  return all;
}

// The resource names of a type, in any combination.
const std::vector<std::string_view>& namesOf(DeviceType type) {
  static const ByDeviceType<std::vector<std::string_view>> kNames{
      std::vector<std::string_view>{model::kNvidiaGpu, model::kAmdGpu, model::kDcuGpu, kGpuName,
                                    kSharedName, kCoreName, kMemoryName, kRatioName, kNpuCore,
                                    kNpuCpu, kNpuDvpp},
      {kRdmaName},
      {kFpgaName}};
  return at(kNames, type);
}

std::int64_t valueIn(const api::ResourceList& list, std::string_view name) {
  const auto it = list.find(name);
  return it == list.end() ? 0 : it->second.value();
}

bool wholeOrLess(std::int64_t percent) {
  return percent <= 100 || percent % 100 == 0;
}

bool shareable(const api::ResourceList& asked, std::string_view name) {
  if (!asked.contains(name)) return true;
  const std::int64_t parts = valueIn(asked, kSharedName);
  const std::int64_t amount = valueIn(asked, name);
  return parts > 0 && amount % parts == 0 && amount / parts <= 100;
}

bool passes(Check check, const api::ResourceList& asked) {
  switch (check) {
    case Check::None:
      return true;
    case Check::Percent:
      return wholeOrLess(valueIn(asked, kCoreName)) && wholeOrLess(valueIn(asked, kRatioName));
    case Check::Shared:
      return shareable(asked, kCoreName) && shareable(asked, kRatioName);
    case Check::NpuShared:
      return valueIn(asked, kSharedName) <= 1 && valueIn(asked, kNpuDvpp) <= 100;
  }
  return false;
}

Result<> validateGpu(const api::ResourceList& asked) {
  static const std::vector<Combination> kCombinations = combinations();
  std::vector<std::string_view> names;
  for (const auto& [name, quantity] : asked) names.push_back(name);
  const bool negative =
      std::ranges::any_of(asked, [](const auto& entry) { return entry.second.sign() < 0; });
  for (const Combination& known : kCombinations)
    if (!negative && known.names == names && passes(known.check, asked)) return {};
  return fail(ErrorCode::Invalid,
              fmt::format("invalid resource device requests: [{}]", fmt::join(names, " ")));
}

api::ResourceList convert(const api::ResourceList& asked) {
  for (const std::string_view whole : {model::kNvidiaGpu, model::kAmdGpu, model::kDcuGpu}) {
    if (!asked.contains(whole)) continue;
    std::int64_t percent = valueIn(asked, whole);
    if (__builtin_mul_overflow(percent, 100, &percent)) percent = INT64_MAX;
    return {{std::string(kCoreName), Quantity::of(percent)},
            {std::string(kRatioName), Quantity::of(percent)}};
  }
  if (const auto it = asked.find(kGpuName); it != asked.end())
    return {{std::string(kCoreName), it->second}, {std::string(kRatioName), it->second}};
  return asked;
}

}  // namespace

Result<DeviceRequests> readDeviceRequests(const api::ResourceList& podRequests) {
  DeviceRequests requests;
  for (const DeviceType type : kDeviceTypes) {
    api::ResourceList asked;
    for (const std::string_view name : namesOf(type)) {
      const auto it = podRequests.find(name);
      if (it != podRequests.end() && !it->second.isZero()) asked[std::string(name)] = it->second;
    }
    for (const std::string_view name : {kGpuName, kRdmaName, kFpgaName}) {
      if (wholeOrLess(valueIn(asked, name)) && valueIn(asked, name) >= 0) continue;
      return fail(ErrorCode::Invalid, fmt::format("invalid resource unit {}: {}", name,
                                                  asked.find(name)->second.toString()));
    }
    if (asked.empty()) continue;
    if (type == DeviceType::Gpu)
      if (auto valid = validateGpu(asked); !valid) return fail(std::move(valid.error()));
    at(requests, type) = convert(asked);
  }
  return requests;
}

bool isEmpty(const DeviceRequests& requests) {
  return std::ranges::all_of(requests, [](const auto& request) { return request.empty(); });
}

GpuRequirement gpuRequirementOf(const api::ResourceList& request) {
  GpuRequirement needed;
  const DeviceAmounts all = DeviceAmounts::of(request);
  const std::int64_t parts = valueIn(request, kSharedName);
  const std::int64_t ratio = all[DeviceResource::GpuMemoryRatio];
  const std::int64_t count = parts > 0 ? parts : ratio > 100 && ratio % 100 == 0 ? ratio / 100 : 1;
  const bool byRatio = all.has(DeviceResource::GpuMemoryRatio);
  for (std::size_t i = 0; i < kDeviceResources; ++i) {
    const auto resource = static_cast<DeviceResource>(i);
    if (!all.has(resource) || (resource == DeviceResource::GpuMemory && byRatio)) continue;
    needed.each.set(resource, all[resource] / count);
  }
  needed.shared = byRatio ? needed.each[DeviceResource::GpuMemoryRatio] < 100
                          : all.has(DeviceResource::GpuMemory);
  needed.count = static_cast<int>(std::min<std::int64_t>(count, INT32_MAX));
  return needed;
}

std::int64_t memoryBytesOf(std::int64_t ratio, std::int64_t total) {
  const auto bytes = static_cast<__int128>(ratio) * total / 100;
  return static_cast<std::int64_t>(std::min<__int128>(bytes, INT64_MAX));
}

std::int64_t memoryRatioOf(std::int64_t bytes, std::int64_t total, bool asUpstream) {
  if (total <= 0) return 0;
  if (asUpstream) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) / static_cast<double>(total) * 100);
  }
  const auto ratio = (static_cast<__int128>(bytes) * 100 + total - 1) / total;
  return static_cast<std::int64_t>(std::min<__int128>(ratio, INT64_MAX));
}

}  // namespace koord::scheduler
