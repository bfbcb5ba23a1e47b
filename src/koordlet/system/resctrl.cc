#include "koordlet/system/resctrl.h"

#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <charconv>

#include "base/split.h"
#include "koordlet/system/cpu_topology.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet::resctrl {
namespace {

constexpr std::string_view kAmd = "AuthenticAMD";
// The full bandwidth of a die as upstream assumes it, in eighths of GB/s: 25 GB/s per memory
// channel, eight channels per socket shared by eight dies, of which four fifths are usable.
constexpr std::int64_t kAmdWhole = 160;

std::optional<std::int64_t> numberIn(std::string_view text, int base) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "0=7ff;1=7ff;": ignores items without a cache id; values must be numbers.
Result<Domains> domainsIn(std::string_view text, int base) {
  Domains domains;
  while (!text.empty()) {
    const auto end = std::min(text.find(';'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || item.find('=', equals + 1) != std::string_view::npos)
      continue;
    const auto id = numberIn(item.substr(0, equals), 10);
    if (!id || *id > INT32_MAX) continue;
    const auto value = numberIn(trim(item.substr(equals + 1)), base);
    if (!value) return fail(ErrorCode::Invalid, fmt::format("'{}' is not a value", item));
    domains[static_cast<int>(*id)] = *value;
  }
  return domains;
}

std::int64_t readNumber(const std::string& path, std::int64_t fallback) {
  const auto text = readSmallFile(path);
  return text ? parseInt(*text).value_or(fallback) : fallback;
}

}  // namespace

Result<Schemata> parseSchemata(std::string_view text, std::optional<int> caches) {
  std::optional<std::string_view> l3, mb;
  forEachLine(text, [&](std::string_view line) {
    line = trim(line);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || line.find(':', colon + 1) != std::string_view::npos)
      return;
    const auto name = line.substr(0, colon);
    if (name == "L3") l3 = line.substr(colon + 1);
    if (name == "MB") mb = line.substr(colon + 1);
  });
  Schemata schemata;
  const auto take = [&](std::string_view name, const std::optional<std::string_view>& values,
                        int base, Domains& to) -> Result<> {
    if (!values) return {};
    auto domains = domainsIn(*values, base);
    if (!domains)
      return fail(ErrorCode::Invalid, fmt::format("line {}: {}", name, domains.error().message));
    const auto count = static_cast<int>(domains->size());
    if (caches.value_or(count) != count)
      return fail(ErrorCode::Invalid,
                  fmt::format("line {} has {} caches instead of {}", name, count, *caches));
    caches = count;
    to = *std::move(domains);
    return {};
  };
  if (auto taken = take("L3", l3, 16, schemata.l3); !taken) return fail(std::move(taken.error()));
  if (auto taken = take("MB", mb, 10, schemata.mb); !taken) return fail(std::move(taken.error()));
  return schemata;
}

std::string l3Line(const Domains& masks) {
  if (masks.empty()) return {};
  std::string line = "L3:";
  for (const auto& [id, mask] : masks) line += fmt::format("{}={:x};", id, mask);
  return line + "\n";
}

std::string mbLine(const Domains& values) {
  if (values.empty()) return {};
  std::string line = "MB:";
  for (const auto& [id, value] : values) line += fmt::format("{}={};", id, value);
  return line + "\n";
}

bool hasLine(std::string_view schemata, std::string_view line) {
  const auto has = parseSchemata(schemata);
  const auto wanted = parseSchemata(line);
  if (!has || !wanted) return false;
  const auto covers = [](const Domains& all, const Domains& some) {
    for (const auto& [id, value] : some) {
      const auto found = all.find(id);
      if (found == all.end() || found->second != value) return false;
    }
    return true;
  };
  return covers(has->l3, wanted->l3) && covers(has->mb, wanted->mb);
}

Result<std::int64_t> l3Mask(std::int64_t all, std::int64_t startPercent, std::int64_t endPercent) {
  const auto bits = static_cast<std::uint64_t>(all);
  if (all < 0 || !std::has_single_bit(bits + 1))
    return fail(ErrorCode::Invalid,
                fmt::format("cbm_mask {:x} is not a contiguous row of ones", bits));
  if (startPercent < 0 || endPercent > 100 || endPercent <= startPercent)
    return fail(
        ErrorCode::Invalid,
        fmt::format("catRangeStartPercent {} and catRangeEndPercent {} are not a range within "
                    "0 to 100",
                    startPercent, endPercent));
  const std::int64_t ways = std::bit_width(bits);
  const auto upTo = [&](std::int64_t percent) { return (ways * percent + 99) / 100; };
  return (std::int64_t{1} << upTo(endPercent)) - (std::int64_t{1} << upTo(startPercent));
}

std::int64_t withLeastWays(std::int64_t mask, std::int64_t all, int leastWays) {
  const auto ways = [](std::int64_t bits) {
    return std::popcount(static_cast<std::uint64_t>(bits));
  };
  if (mask == 0) mask = (all >> 1) + 1;  // the highest way
  while (ways(mask) < leastWays && mask != all) {
    const std::int64_t up = (mask << 1 | mask) & all;
    mask = up != mask ? up : (mask >> 1 | mask);
  }
  return mask;
}

std::optional<std::int64_t> bandwidthOf(const BandwidthScale& scale, std::int64_t percent) {
  if (percent < 1 || percent > 100) return std::nullopt;
  if (scale.absolute) return percent == 100 ? scale.unlimited : kAmdWhole * percent / 100;
  const std::int64_t step = std::max<std::int64_t>(scale.step, 1);
  return std::clamp<std::int64_t>((percent + step - 1) / step * step,
                                  std::min<std::int64_t>(scale.least, 100), 100);
}

Result<> cpuSupport(const HostDirs& dirs) {
  const std::string path = dirs.procRoot + "cpuinfo";
  const auto text = readSmallFile(path);
  if (!text) return fail(text.error());
  bool cat = false, mba = false;
  bool seen = false;
  forEachLine(*text, [&](std::string_view line) {
    if (seen || !line.starts_with("flags")) return;
    seen = true;  // all CPUs of a machine have the same
    const auto colon = line.find(':');
    std::string_view rest = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    for (auto word = takeWord(rest); !word.empty(); word = takeWord(rest)) {
      cat = cat || word == "cat_l3";
      mba = mba || word == "mba";
    }
  });
  if (cat && mba) return {};
  return fail(ErrorCode::NotFound, fmt::format("{}: the CPU has no {}", path,
                                               cat   ? "mba"
                                               : mba ? "cat_l3"
                                                     : "cat_l3 and mba"));
}

Result<> mount(const HostDirs& dirs) {
  const std::string dir = rootDir(dirs);
  if (pathExists(dir + "info/L3/cbm_mask")) return {};
  if (::mount("resctrl", dir.c_str(), "resctrl", 0, nullptr) != 0 && errno != EBUSY)
    return fail(errnoError("mount resctrl on " + dir, errno));
  if (pathExists(dir + "info/L3/cbm_mask")) return {};
  return fail(ErrorCode::NotFound, dir + "info/L3/cbm_mask does not exist: no cache allocation");
}

bool isAmd(const HostDirs& dirs) {
  return readCpuBasicInfo(dirs).vendor == kAmd;
}

Result<Machine> readMachine(const HostDirs& dirs, bool amd) {
  const std::string dir = rootDir(dirs);
  const auto maskText = readSmallFile(dir + "info/L3/cbm_mask");
  if (!maskText) return fail(maskText.error());
  const auto mask = numberIn(trim(*maskText), 16);
  if (!mask || *mask > UINT32_MAX)
    return fail(ErrorCode::Invalid,
                fmt::format("{}info/L3/cbm_mask: '{}' is not a mask", dir, trim(*maskText)));
  const auto text = readSmallFile(dir + "schemata");
  if (!text) return fail(text.error());
  auto root = parseSchemata(*text);
  if (!root) return fail(root.error().code, dir + "schemata: " + root.error().message);
  if (root->l3.empty()) return fail(ErrorCode::Invalid, dir + "schemata: no line L3");

  Machine machine;
  machine.allWays = *mask;
  machine.leastWays = static_cast<int>(readNumber(dir + "info/L3/min_cbm_bits", 1));
  machine.bandwidth.absolute = amd;
  machine.bandwidth.step = readNumber(dir + "info/MB/bandwidth_gran", 10);
  machine.bandwidth.least = readNumber(dir + "info/MB/min_bandwidth", 10);
  // Newer AMD machines count further.
  for (const auto& [id, value] : root->mb)
    machine.bandwidth.unlimited = std::max(machine.bandwidth.unlimited, value);
  machine.rootL3 = std::move(root->l3);
  machine.rootMb = std::move(root->mb);
  return machine;
}

Result<bool> makeGroup(const HostDirs& dirs, const std::string& group) {
  const std::string dir = rootDir(dirs) + group;
  if (::mkdir(dir.c_str(), 0755) == 0) return true;
  if (errno == EEXIST) return false;
  return fail(errnoError("create the resctrl group " + dir, errno));
}

Result<std::set<int>> readTasks(const std::string& path) {
  const auto text = readSmallFile(path);
  if (!text) return fail(text.error());
  std::set<int> tasks;
  bool clean = true;
  forEachLine(*text, [&](std::string_view line) {
    if (trim(line).empty()) return;
    const auto id = parseInt(line);
    clean = clean && id && *id > 0 && *id <= INT32_MAX;
    if (clean) tasks.insert(static_cast<int>(*id));
  });
  if (!clean) return fail(ErrorCode::Invalid, path + ": not a list of thread ids");
  return tasks;
}

}  // namespace koord::koordlet::resctrl
