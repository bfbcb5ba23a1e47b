#include "cluster/hostnode/machine.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/split.h"

namespace koord::cluster {

namespace {

constexpr int kMaxPods = 110;
// In the abstract namespace: not a file, and the kernel frees it with the process.
constexpr std::string_view kLockName = "koordctl-host-node";

std::string firstLine(const std::string& path) {
  auto text = readFile(path);
  if (!text) return {};
  return text->substr(0, text->find('\n'));
}

std::string osImage() {
  const auto text = readFile("/etc/os-release");
  if (!text) return "Linux";
  constexpr std::string_view key = "PRETTY_NAME=\"";
  const auto start = text->find(key);
  if (start == std::string::npos) return "Linux";
  const auto from = start + key.size();
  return text->substr(from, text->find('"', from) - from);
}

std::string architecture(const char* machine) {
  const std::string_view name = machine;
  if (name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  return std::string(name);
}

// A kubelet on this host owns the kubepods cgroups.
bool kubeletRuns() {
  std::error_code ec;
  for (auto it = std::filesystem::directory_iterator("/proc", ec);
       !ec && it != std::filesystem::end(it); it.increment(ec)) {
    const std::string name = it->path().filename();
    if (std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; }) &&
        firstLine(it->path().string() + "/comm") == "kubelet")
      return true;
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> meminfoLine(std::string_view meminfo, std::string_view key) {
  for (std::string_view line : splitAll(meminfo, '\n')) {
    if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) continue;
    line = trim(line.substr(key.size() + 1));
    std::int64_t kib = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), kib).ec != std::errc())
      return std::nullopt;
    return kib * 1024;
  }
  return std::nullopt;
}

Machine readMachine(const std::string& dataDir) {
  Machine machine;
  utsname system{};
  ::uname(&system);
  machine.hostname = system.nodename;
  std::ranges::transform(machine.hostname, machine.hostname.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  machine.cpus = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  if (const auto meminfo = readFile("/proc/meminfo"))
    machine.memoryBytes = meminfoLine(*meminfo, "MemTotal").value_or(0);
  struct statvfs disk{};
  if (::statvfs(dataDir.c_str(), &disk) == 0)
    machine.diskBytes = static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize);
  auto& info = machine.info;
  info.machineID = firstLine("/etc/machine-id");
  info.bootID = firstLine("/proc/sys/kernel/random/boot_id");
  if (info.machineID.empty()) info.machineID = info.bootID;
  info.systemUUID = firstLine("/sys/class/dmi/id/product_uuid");
  if (info.systemUUID.empty()) info.systemUUID = info.machineID;
  info.kernelVersion = system.release;
  info.osImage = osImage();
  info.operatingSystem = "linux";
  info.architecture = architecture(system.machine);
  return machine;
}

api::ResourceList capacityOf(const Machine& machine) {
  using Format = Quantity::Format;
  api::ResourceList list;
  list["cpu"] = Quantity::of(machine.cpus);
  list["memory"] = Quantity::of(machine.memoryBytes, Format::BinarySI);
  list["ephemeral-storage"] = Quantity::of(machine.diskBytes, Format::BinarySI);
  list["pods"] = Quantity::of(kMaxPods);
  return list;
}

api::ResourceList allocatableOf(const Machine& machine,
                                const std::vector<EvictionThreshold>& thresholds) {
  auto list = capacityOf(machine);
  const auto withhold = [&](const char* resource, const EvictionThreshold& threshold,
                            std::int64_t capacity) {
    list[resource] = Quantity::of(std::max<std::int64_t>(capacity - threshold.of(capacity), 0),
                                  Quantity::Format::BinarySI);
  };
  for (const auto& threshold : thresholds) {
    if (threshold.signal == EvictionSignal::MemoryAvailable)
      withhold("memory", threshold, machine.memoryBytes);
    if (threshold.signal == EvictionSignal::NodefsAvailable)
      withhold("ephemeral-storage", threshold, machine.diskBytes);
  }
  return list;
}

Result<HostNodeLock> HostNodeLock::take() {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errnoError("socket", errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, kLockName.data(), kLockName.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kLockName.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0)
    return HostNodeLock(std::move(socket));
  if (errno == EADDRINUSE)
    return fail(ErrorCode::Conflict,
                "another koordctl uses this host as its node: stop it, or use --host-node=off");
  return fail(errnoError("claim the host node", errno));
}

Result<CgroupLayout> checkHostNode(CgroupFs& fs) {
  if (::geteuid() != 0)
    return fail(ErrorCode::Forbidden,
                "running pods in cgroups needs root: run koordctl up as root");
  if (kubeletRuns())
    return fail(ErrorCode::Conflict, "a kubelet runs on this host and owns its kubepods cgroups");
  const auto mountinfo = readFile("/proc/self/mountinfo");
  if (!mountinfo) return fail(mountinfo.error());
  auto layout = parseCgroupLayout(*mountinfo);
  if (!layout) return fail(std::move(layout.error()));
  if (auto writable = checkWritable(*layout, fs); !writable)
    return fail(std::move(writable.error()).within("cgroups cannot be created"));
  return layout;
}

}  // namespace koord::cluster
