#include "scheduler/plugins/deviceshare/adaption.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/time.h"
#include "kube/client.h"
#include "model/gpu_isolation.h"
#include "model/node_names.h"

namespace koord::scheduler {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBindTimestamp = "scheduling.koordinator.sh/bind-timestamp";
constexpr std::string_view kGpuMinors = "scheduling.koordinator.sh/gpu-minors";
constexpr const char* kHamiNode = "hami.io/vgpu-node";
constexpr const char* kHamiLock = "hami.io/mutex.lock";
constexpr const char* kCambriconLock = "cambricon.com/dsmlu.lock";
constexpr std::int64_t kCambriconUnit = std::int64_t{256} << 20;
constexpr std::int64_t kMetaxUnit = std::int64_t{1} << 20;
// A lock that is not removed expires after this time.
constexpr Duration kLongestLock = 5min;
constexpr int kLockAttempts = 5;

std::string textAtLabel(const api::StringMap& labels, std::string_view key) {
  const std::string* found = api::findIn(labels, key);
  return found ? *found : std::string();
}

std::string minorsText(const std::vector<AllocatedDevice>& gpus, std::string_view prefix) {
  std::string text;
  for (const AllocatedDevice& gpu : gpus)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", prefix, gpu.minor);
  return text;
}

// Cores and units of memory; both must be present.
Result<std::pair<std::int64_t, std::int64_t>> sharesOf(const AllocatedDevice& gpu,
                                                       std::int64_t unit) {
  if (!gpu.amounts.has(DeviceResource::GpuCore))
    return fail(ErrorCode::Invalid, "gpu core resource is required");
  const std::int64_t memory = gpu.amounts[DeviceResource::GpuMemory];
  if (memory < unit)
    return fail(ErrorCode::Invalid, fmt::format("gpu memory must not be less than {} bytes", unit));
  return std::pair(gpu.amounts[DeviceResource::GpuCore], memory / unit);
}

void forHuawei(const std::vector<AllocatedDevice>& gpus, std::string_view model,
               const std::string& nanos, DeviceAnnotations& words) {
  words.annotations["predicate-time"] = nanos;
  if (model == "Ascend-310P3-300I-DUO") {
    words.annotations["huawei.com/Ascend310P"] = minorsText(gpus, "Ascend310P-");
    return;
  }
  const AllocatedDevice& first = gpus.front();
  words.annotations[model::kNpuCore] = first.gpuTemplate.empty()
                                           ? minorsText(gpus, "")
                                           : fmt::format("{}-{}", first.minor, first.gpuTemplate);
}

Result<> forCambricon(const std::vector<AllocatedDevice>& gpus, DeviceAnnotations& words) {
  if (gpus.size() > 1)
    return fail(ErrorCode::Invalid, "multiple gpu share is not supported on device side");
  const auto shares = sharesOf(gpus.front(), kCambriconUnit);
  if (!shares) return fail(shares.error());
  words.annotations["CAMBRICON_DSMLU_ASSIGHED"] = "false";
  words.annotations["CAMBRICON_DSMLU_PROFILE"] =
      fmt::format("{}_{}_{}", gpus.front().minor, shares->first, shares->second);
  words.lock = kCambriconLock;
  return {};
}

Result<> forMetax(const std::vector<AllocatedDevice>& gpus, const std::vector<std::string>& ids,
                  DeviceAnnotations& words) {
  json::array list;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto shares = sharesOf(gpus[i], kMetaxUnit);
    if (!shares) return fail(shares.error());
    list.push_back(json::object{{"uuid", i < ids.size() ? ids[i] : std::string()},
                                {"compute", shares->first},
                                {"vRam", shares->second}});
  }
  words.annotations["metax-tech.com/gpu-devices-allocated"] = toJson(json::array{std::move(list)});
  words.lock = kHamiLock;
  return {};
}

}  // namespace

Result<DeviceAnnotations> wordsFor(const AllocatedDevices& given,
                                   const api::StringMap& deviceLabels,
                                   const std::vector<std::string>& ids, WallTime now) {
  DeviceAnnotations words;
  const std::string nanos = std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count());
  words.annotations[std::string(kBindTimestamp)] = nanos;
  const auto& gpus = at(given, DeviceType::Gpu);
  if (gpus.empty()) return words;
  words.annotations[std::string(kGpuMinors)] = minorsText(gpus, "");
  const std::string vendor = textAtLabel(deviceLabels, model::kLabelGpuVendor);
  Result<> done;
  if (vendor == "huawei")
    forHuawei(gpus, textAtLabel(deviceLabels, model::kLabelGpuModel), nanos, words);
  if (vendor == "cambricon") done = forCambricon(gpus, words);
  if (vendor == "metax") done = forMetax(gpus, ids, words);
  if (done) return words;
  return fail(done.error().code,
              fmt::format("failed to adapt for GPU device plugin of vendor \"{}\": {}", vendor,
                          done.error().message));
}

Result<DeviceLock> parseDeviceLock(std::string_view text) {
  const auto first = text.find(',');
  const auto second = first == text.npos ? text.npos : text.find(',', first + 1);
  const auto invalid = [&] {
    return fail(ErrorCode::Invalid, fmt::format("invalid node lock value \"{}\"", text));
  };
  if (second == text.npos || text.find(',', second + 1) != text.npos) return invalid();
  const auto since = parseTime(text.substr(0, first));
  if (!since) return invalid();
  return DeviceLock{*since,
                    {std::string(text.substr(first + 1, second - first - 1)),
                     std::string(text.substr(second + 1))}};
}

Task<Result<>> DeviceAdaption::adapt(CycleState* state, PodPtr pod, std::string node,
                                     AllocatedDevices given, api::StringMap deviceLabels,
                                     std::vector<std::string> ids) {
  auto words = wordsFor(given, deviceLabels, ids, handle_.executor().wallNow());
  if (!words) co_return fail(std::move(words.error()));
  for (auto& [key, value] : words->annotations) state->annotations()[key] = value;
  if (!words->lock.empty()) {
    auto locking = lock(pod, node, words->lock);
    Result<> locked = co_await locking;
    if (!locked) {
      co_return fail(locked.error().code,
                     fmt::format("failed to lock node: {}", locked.error().message));
    }
  }
  const bool hami = model::gpuIsolationProvider(pod->pod->metadata.labels) == model::kHamiCore;
  if (!hami || pod->kind || at(given, DeviceType::Gpu).empty()) co_return Result<>{};
  auto labelling = labelForHami(pod, node);
  Result<> labelled = co_await labelling;
  co_return labelled;
}

// A pod that is gone, or took too long, does not hold the lock.
Task<Result<bool>> DeviceAdaption::isHeld(DeviceLock lock) {
  if (handle_.executor().wallNow() - lock.since > kLongestLock) co_return false;
  auto reading = kube::get<api::Pod>(*handle_.api(), lock.pod);
  const Result<api::Pod> holder = co_await reading;
  if (holder) co_return true;
  if (holder.error().code == ErrorCode::NotFound) co_return false;
  co_return fail(Error(holder.error()));
}

// Of two concurrent locks, one fails on the resource version of the node.
Task<Result<>> DeviceAdaption::lock(PodPtr pod, std::string node, std::string key) {
  if (!handle_.api()) co_return fail(ErrorCode::Unavailable, "no API server");
  for (int attempt = 1;; ++attempt) {
    auto reading = kube::get<api::Node>(*handle_.api(), api::ObjectKey{"", node});
    const Result<api::Node> now = co_await reading;
    if (!now) co_return fail(Error(now.error()));
    if (const std::string* text = api::findIn(now->metadata.annotations, key)) {
      auto read = parseDeviceLock(*text);
      if (!read) co_return fail(std::move(read.error()));
      auto asking = isHeld(*std::move(read));
      const Result<bool> held = co_await asking;
      if (!held) co_return fail(Error(held.error()));
      if (*held)
        co_return fail(ErrorCode::Conflict, fmt::format("node \"{}\" has been locked", node));
    }
    const api::ObjectMeta& meta = pod->pod->metadata;
    json::object annotations;
    annotations[key] = fmt::format("{},{},{}", formatTime(handle_.executor().wallNow()),
                                   meta.namespace_, meta.name);
    json::object metadata{{"resourceVersion", now->metadata.resourceVersion},
                          {"annotations", std::move(annotations)}};
    auto patching = kube::mergePatch(*handle_.api(), api::Node::kType, {"", node},
                                     json::object{{"metadata", std::move(metadata)}});
    const Result<json::value> patched = co_await patching;
    if (patched) co_return Result<>{};
    if (patched.error().code != ErrorCode::Conflict || attempt == kLockAttempts) {
      co_return fail(patched.error().code,
                     fmt::format("failed to patch node \"{}\": {}", node, patched.error().message));
    }
  }
}

Task<Result<>> DeviceAdaption::labelForHami(PodPtr pod, std::string node) {
  if (!handle_.api()) co_return fail(ErrorCode::Unavailable, "no API server");
  json::object labels;
  labels[kHamiNode] = node;
  json::object metadata{{"uid", pod->uid()}, {"labels", std::move(labels)}};
  auto patching = kube::mergePatch(*handle_.api(), api::Pod::kType, api::keyOf(pod->pod->metadata),
                                   json::object{{"metadata", std::move(metadata)}});
  const Result<json::value> patched = co_await patching;
  if (patched) co_return Result<>{};
  co_return fail(Error(patched.error()));
}

}  // namespace koord::scheduler
