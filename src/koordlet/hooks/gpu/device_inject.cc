#include "koordlet/hooks/gpu/device_inject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/json.h"
#include "koordlet/system/small_file.h"
#include "model/gpu_isolation.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kLockDir = "/tmp/vgpulock";
constexpr std::uint32_t kDeviceMode = 0666;

std::optional<std::int64_t> amountIn(const json::value& resources, std::string_view name) {
  const auto* amount = find(resources, name);
  if (!amount) return std::nullopt;
  const auto quantity =
      Quantity::parse(amount->is_string() ? std::string(amount->get_string()) : toJson(*amount));
  return quantity ? std::optional(quantity->value()) : std::nullopt;
}

AllocatedDevice deviceIn(const json::value& item) {
  AllocatedDevice device;
  if (const auto* minor = find(item, "minor"); minor && minor->is_int64())
    device.minor = minor->get_int64();
  device.id = textAt(item, "id");
  if (const auto* resources = find(item, "resources")) device.resources = *resources;
  const auto* extension = find(item, "extension");
  const auto* functions = extension ? find(*extension, "vfs") : nullptr;
  if (functions && functions->is_array())
    for (const auto& function : functions->get_array())
      device.functions.emplace_back(textAt(function, "busID"));
  return device;
}

// The device file `name` below /dev; `root` is the directory in which koordlet sees /dev.
Result<ContainerStart::Device> deviceFile(const std::string& root, const std::string& name) {
  struct stat info{};
  std::string path = root + name;
  if (::stat(path.c_str(), &info) != 0) return fail(errnoError("stat " + path, errno));
  if (!S_ISCHR(info.st_mode)) return fail(ErrorCode::Invalid, path + " is not a character device");
  return ContainerStart::Device{"/dev/" + name, "c", static_cast<std::int64_t>(major(info.st_rdev)),
                                static_cast<std::int64_t>(minor(info.st_rdev)), kDeviceMode};
}

// A bus id is used as the name of a directory.
bool isBusId(std::string_view id) {
  return !id.empty() &&
         id.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
         id.find("..") == std::string_view::npos;
}

}  // namespace

Result<std::vector<AllocatedDevice>> allocatedDevices(const PodView& pod, std::string_view type) {
  std::vector<AllocatedDevice> devices;
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationDeviceAllocated);
  if (!text) return devices;
  const auto document = parseJson(*text);
  if (!document || !document->is_object())
    return fail(ErrorCode::Invalid,
                fmt::format("annotation {}: not a JSON object", model::kAnnotationDeviceAllocated));
  const auto* list = find(*document, type);
  if (!list || !list->is_array()) return devices;
  for (const auto& item : list->get_array()) devices.push_back(deviceIn(item));
  return devices;
}

Result<> GpuEnvHook::starting(const PodView& pod, const ContainerView& container,
                              ContainerStart& start) {
  const auto gpus = allocatedDevices(pod, "gpu");
  if (!gpus) return fail(gpus.error());
  if (gpus->empty()) return {};
  std::vector<std::int64_t> minors;
  for (const auto& gpu : *gpus) minors.push_back(gpu.minor);
  start.env.emplace_back("NVIDIA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(minors, ",")));
  const bool hami = model::gpuIsolationProvider(pod.pod->metadata.labels) == model::kHamiCore;
  const auto ratio = amountIn(gpus->front().resources, model::kGpuMemoryRatio);
  if (!hami || !ratio || *ratio >= 100) return {};
  return limit(pod, container, gpus->front(), start);
}

Result<> GpuEnvHook::limit(const PodView& pod, const ContainerView& container,
                           const AllocatedDevice& gpu, ContainerStart& start) const {
  const auto set = [&](const char* name, std::string value) {
    start.env.emplace_back(name, std::move(value));
  };
  const auto mount = [&](std::string source, std::string target) {
    start.mounts.push_back({std::move(source), std::move(target), {"rbind"}});
  };
  if (const auto memory = amountIn(gpu.resources, model::kGpuMemory))
    set("CUDA_DEVICE_MEMORY_LIMIT", std::to_string(*memory));
  if (const auto core = amountIn(gpu.resources, model::kGpuCore))
    set("CUDA_DEVICE_SM_LIMIT", std::to_string(*core));
  set("LD_PRELOAD", options_.hamiLibrary);
  mount(options_.hamiLibrary, options_.hamiLibrary);
  mount(std::string(kLockDir), std::string(kLockDir));
  if (!options_.hamiMonitor) return {};
  const std::string root = options_.hamiLibrary.substr(0, options_.hamiLibrary.rfind('/'));
  const std::string name = fmt::format("{}_{}", pod.uid(), container.name);
  set("CUDA_DEVICE_MEMORY_SHARED_CACHE", fmt::format("{}/{}.cache", root, name));
  const std::string own = fmt::format("{}/containers/{}", root, name);
  if (auto made = makeDirs(own, 0777); !made) return made;
  ::chmod(own.c_str(), 0777);  // whatever the umask is
  mount(own, root);
  return {};
}

Result<> RdmaDeviceHook::starting(const PodView& pod, const ContainerView&, ContainerStart& start) {
  const auto cards = allocatedDevices(pod, "rdma");
  if (!cards) return fail(cards.error());
  if (cards->empty()) return {};
  auto manager = deviceFile(deviceRoot_, "infiniband/rdma_cm");
  if (!manager) return fail(std::move(manager.error()));
  start.devices.push_back(*std::move(manager));
  for (const auto& card : *cards) {
    std::vector<std::string> functions = card.functions;
    if (functions.empty()) functions.push_back(card.id);
    for (const auto& busId : functions) {
      if (!isBusId(busId))
        return fail(ErrorCode::Invalid, fmt::format("'{}' is not a PCI address", busId));
      const std::string dir =
          fmt::format("{}bus/pci/devices/{}/infiniband_verbs", host_.dirs.sysRoot, busId);
      const auto names = listDirs(dir);
      if (names.empty()) return fail(ErrorCode::NotFound, dir + ": no RDMA device");
      auto verbs = deviceFile(deviceRoot_, "infiniband/" + names.front());
      if (!verbs) return fail(std::move(verbs.error()));
      start.devices.push_back(*std::move(verbs));
    }
  }
  return {};
}

}  // namespace koord::koordlet
