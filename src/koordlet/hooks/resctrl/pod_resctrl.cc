#include "koordlet/hooks/resctrl/pod_resctrl.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "base/json.h"
#include "base/log.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGroupPrefix = "koordlet-";
constexpr Duration kOrphanAge = 10s;

const std::string* annotationOf(const PodView& pod) {
  return api::findIn(pod.pod->metadata.annotations, model::kAnnotationResctrl);
}

// Returns false for a uid that, as a name, could lead out of the directory.
bool isPlainName(std::string_view uid) {
  return !uid.empty() && uid.find_first_of("/.") == std::string_view::npos;
}

std::optional<std::int64_t> maskIn(const resctrl::Machine& machine, const json::value& schemata) {
  const auto* range = find(schemata, "range");
  if (!range || !range->is_array() || range->get_array().size() != 2) return std::nullopt;
  const auto& ends = range->get_array();
  if (!ends[0].is_int64() || !ends[1].is_int64()) return std::nullopt;
  const auto mask = resctrl::l3Mask(machine.allWays, ends[0].get_int64(), ends[1].get_int64());
  return mask && *mask > 0 ? std::optional(*mask) : std::nullopt;
}

std::optional<std::int64_t> bandwidthIn(const resctrl::Machine& machine,
                                        const json::value& schemata) {
  const auto* percent = find(schemata, "percent");
  if (!percent || !percent->is_int64()) return std::nullopt;
  return resctrl::bandwidthOf(machine.bandwidth, percent->get_int64());
}

// The values for all caches, then those for single caches; the root group's where `part` has none.
// An error names the invalid part.
template <class Read>
Result<resctrl::Domains> domainsOf(const json::value& part, const resctrl::Domains& root,
                                   Read read) {
  resctrl::Domains domains = root;
  if (const auto* all = find(part, "schemata"); all && all->is_object()) {
    const auto value = read(*all);
    if (!value) return fail(ErrorCode::Invalid, "invalid schemata");
    for (auto& [id, current] : domains) current = *value;
  }
  const auto* single = find(part, "schemataPerCache");
  if (!single || !single->is_array()) return domains;
  for (const auto& item : single->get_array()) {
    const auto* id = find(item, "cacheID");
    const auto value = read(item);
    if (!id || !id->is_int64() || !root.contains(static_cast<int>(id->get_int64())) || !value)
      return fail(ErrorCode::Invalid, "invalid schemataPerCache, or without caches");
    domains[static_cast<int>(id->get_int64())] = *value;
  }
  return domains;
}

}  // namespace

std::string resctrlGroupOf(const PodView& pod) {
  return fmt::format("{}{}", kGroupPrefix, pod.uid());
}

Result<PodSchemata> podSchemata(const resctrl::Machine& machine, std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  resctrl::Domains masks = machine.rootL3, shares = machine.rootMb;
  if (const auto* llc = find(*document, "llc")) {
    auto named = domainsOf(*llc, machine.rootL3,
                           [&](const json::value& item) { return maskIn(machine, item); });
    if (!named) return fail(ErrorCode::Invalid, "llc: " + named.error().message);
    masks = *std::move(named);
  }
  if (const auto* mb = find(*document, "mb")) {
    auto named = domainsOf(*mb, machine.rootMb,
                           [&](const json::value& item) { return bandwidthIn(machine, item); });
    if (!named) return fail(ErrorCode::Invalid, "mb: " + named.error().message);
    shares = *std::move(named);
  }
  return PodSchemata{resctrl::l3Line(masks), resctrl::mbLine(shares)};
}

ResctrlHook::ResctrlHook(const Host& host, ResourceExecutor& executor, const Clock& clock)
    : host_(host),
      executor_(executor),
      clock_(clock),
      supported_(resctrl::cpuSupport(host.dirs)),
      amd_(resctrl::isAmd(host.dirs)) {}

Result<> ResctrlHook::apply(const PodView& pod) {
  const auto* text = annotationOf(pod);
  if (!text || !supported_ || !isPlainName(pod.uid())) return {};
  if (auto mounted = resctrl::mount(host_.dirs); !mounted) return mounted;
  const auto machine = resctrl::readMachine(host_.dirs, amd_);
  if (!machine) return fail(machine.error());
  const auto schemata = podSchemata(*machine, *text);
  if (!schemata)
    return fail(ErrorCode::Invalid, fmt::format("annotation {}: {}", model::kAnnotationResctrl,
                                                schemata.error().message));
  const std::string group = resctrlGroupOf(pod);
  if (auto made = resctrl::makeGroup(host_.dirs, group); !made) return fail(made.error());
  // Not cached: the group may have been removed and created again since the last call.
  const std::string path = resctrl::rootDir(host_.dirs) + group + "/schemata";
  const auto set = [&](const std::string& line) -> Result<> {
    if (line.empty()) return {};
    const auto outcome = executor_.updateFile(
        {path, line, "Create Resctrl Group", "resctrl-schema", resctrl::hasLine, line.substr(0, 2)},
        ResourceExecutor::Caching::No);
    return outcome ? Result<>{} : fail(outcome.error());
  };
  // Both lines, because the annotation may not name the resource of a refused line.
  auto cache = set(schemata->l3);
  auto bandwidth = set(schemata->mb);
  return cache ? bandwidth : cache;
}

Result<> ResctrlHook::podStarting(const PodView& pod) {
  return apply(pod);
}

Result<> ResctrlHook::starting(const PodView& pod, const ContainerView&, ContainerStart& start) {
  if (annotationOf(pod) && supported_ &&
      pathExists(resctrl::rootDir(host_.dirs) + resctrlGroupOf(pod)))
    start.resctrlGroup = resctrlGroupOf(pod);
  return {};
}

void ResctrlHook::removeGroup(const std::string& group) {
  const std::string dir = resctrl::rootDir(host_.dirs) + group;
  if (::rmdir(dir.c_str()) == 0) {
    log::info("removed the resctrl group {}", group);
  } else if (errno != ENOENT) {
    log::warn("resctrl group not removed: {}", errnoError("rmdir " + dir, errno).message);
  }
}

void ResctrlHook::podRemoved(const PodView& pod) {
  problems_.erase(pod.uid());
  if (annotationOf(pod) && isPlainName(pod.uid())) removeGroup(resctrlGroupOf(pod));
}

void ResctrlHook::prepare(const States& states, HookUpdates&) {
  if (!supported_ || !states.podsSynced()) return;
  std::set<std::string> known;
  for (const auto& pod : states.pods())
    if (annotationOf(pod)) known.insert(resctrlGroupOf(pod));
  const SteadyTime now = clock_.steadyNow();
  std::map<std::string, SteadyTime> orphans;
  for (const auto& name : listDirs(resctrl::rootDir(host_.dirs))) {
    if (!name.starts_with(kGroupPrefix) || known.contains(name)) continue;
    const auto before = orphans_.find(name);
    const SteadyTime since = before == orphans_.end() ? now : before->second;
    if (now - since > kOrphanAge) {
      removeGroup(name);
    } else {
      orphans[name] = since;
    }
  }
  orphans_ = std::move(orphans);
}

void ResctrlHook::moveTasks(const PodView& pod) {
  const std::string path = resctrl::rootDir(host_.dirs) + resctrlGroupOf(pod) + "/tasks";
  const auto known = resctrl::readTasks(path);
  if (!known) return;  // there is no group
  std::vector<int> ids;
  for (const auto& name : listDirs(host_.layout.dir(Subsystem::Cpu, pod.dir))) {
    const auto file = cgroupFilePath(host_.layout, CgroupFile::Tasks, joinPath(pod.dir, name));
    const auto tasks = file ? resctrl::readTasks(*file) : fail(file.error());
    if (!tasks) continue;
    for (const int id : *tasks)
      if (!known->contains(id)) ids.push_back(id);
  }
  if (!ids.empty()) (void)executor_.moveTasks(path, ids, "UpdateResctrl");
}

void ResctrlHook::wanted(const PodView& pod, HookUpdates&) {
  if (!annotationOf(pod) || !supported_ || !isPlainName(pod.uid())) return;
  const auto applied = apply(pod);
  std::string& logged = problems_[pod.uid()];
  const std::string problem = applied ? "" : applied.error().message;
  if (!problem.empty() && problem != logged)
    log::warn("resctrl of pod {} not set: {}", pod.pod->metadata.name, problem);
  logged = problem;
  moveTasks(pod);  // into a group with a refused line, too: its other values apply
}

}  // namespace koord::koordlet
