// The machine as koordlet sees it: files of /proc, /sys, cgroups and kubelet, and koordlet's own of
// its last run, all with the same text. Whatever it is, they are read or refused, and numbers that
// come out make sense.

#include <utility>

#include "base/virtual_loop.h"
#include "fuzz.h"
#include "koordlet/audit/event_query.h"
#include "koordlet/metriccache/history_file.h"
#include "koordlet/netlink/netlink.h"
#include "koordlet/prediction/models.h"
#include "koordlet/states/kubelet.h"
#include "koordlet/states/list_items.h"
#include "koordlet/system/cgroup_path.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/cpu_manager_state.h"
#include "koordlet/system/cpu_topology.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/storage.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::fuzz {
namespace {

using namespace koord::koordlet;

constexpr std::string_view kFiles[] = {"proc/stat",
                                       "proc/meminfo",
                                       "proc/cpuinfo",
                                       "proc/self/mountinfo",
                                       "proc/1/mounts",
                                       "sys/devices/system/cpu/online",
                                       "sys/devices/system/cpu/cpu0/topology/core_id",
                                       "sys/devices/system/cpu/cpu0/topology/physical_package_id",
                                       "sys/devices/system/node/node0/cpulist",
                                       "sys/devices/system/node/node0/meminfo",
                                       "sys/block/vda/dev",
                                       "cgroup/v2/cgroup.controllers",
                                       "cgroup/v2/p/cpu.stat",
                                       "cgroup/v2/p/cpu.max",
                                       "cgroup/v2/p/cpu.weight",
                                       "cgroup/v2/p/memory.stat",
                                       "cgroup/v2/p/memory.max",
                                       "cgroup/v2/p/memory.numa_stat",
                                       "cgroup/v2/p/cpuset.cpus.effective",
                                       "cgroup/v2/p/cpu.pressure",
                                       "kubelet/cpu_manager_state",
                                       "own/node-history",
                                       "own/audit.log"};

void readHost(const HostDirs& dirs) {
  if (const auto ticks = readCpuTicks(dirs.procRoot))
    for (const auto& [cpu, count] : ticks->perCpu) check(cpu >= 0, "CPUs have numbers");
  (void)readMemInfo(dirs.procRoot);
  (void)readZoneMemory(dirs);
  std::string text;
  if (const auto used = readZoneUsed(dirs, 0, text))
    check(*used >= 0, "memory in use is an amount");
  if (const auto topology = readCpuTopology(dirs))
    check(std::cmp_equal(topology->count(), topology->all().size()), "a CPU is there once");
  (void)readCpuManagerState(dirs);
  (void)Storage::read(dirs).ofDevice("/dev/vda");
}

void readCgroup(HostDirs dirs) {
  dirs.cgroupRoot += "v2/";
  const auto layout = CgroupLayout::detect(dirs);
  if (!layout) return;
  CgroupReader reader(*layout);
  (void)reader.cpu("p");
  (void)reader.cpuUsageNs("p");
  (void)reader.memoryStat("p");
  (void)reader.memoryLimit("p");
  std::vector<std::int64_t> byNode(2);
  (void)reader.addMemoryByNode("p", byNode);
  check(byNode[0] >= 0 && byNode[1] >= 0, "memory on a node is an amount");
  (void)reader.cfsPeriodUs("p");
  if (const auto quota = reader.cfsQuotaUs("p")) check(*quota >= -1, "no limit is -1");
  if (const auto cpus = reader.cpuset("p"))
    check(CpuSet::parse(cpus->toString()) == *cpus, "a list of CPUs reads as itself");
}

void readOwn(const TempTree& tree, std::string_view input) {
  VirtualLoop loop;
  MetricCache cache(std::chrono::seconds(1), {});
  if (!loadHistory(cache, tree.path("own/node-history"), loop.wallNow()))
    check(cache.seriesCount() == 0, "a damaged history is not half loaded");
  EventLog log({.enabled = true, .folder = tree.path("own")});
  EventQueries queries(loop, log, Random(1));
  auto page = queries.page("16", "");
  for (int pages = 0; !page.nextToken.empty() && pages < 1000; ++pages)
    page = queries.page("16", page.nextToken);
  check(page.nextToken.empty() || input.size() > 16'000, "events end");
  if (const auto document = parseJson(input))
    if (const auto model = prediction::Model::load(*document, {})) {
      const auto peak = model->peak();
      check(peak.milli >= 0 && peak.bytes >= 0, "peaks are amounts");
    }
}

}  // namespace

void koordletMachine(std::string_view input) {
  static TempTree tree;
  for (const auto file : kFiles) tree.write(file, input);
  HostDirs dirs = tree.dirs();
  dirs.varLibKubelet = tree.path("kubelet/");
  readHost(dirs);
  readCgroup(dirs);
  readOwn(tree, input);
  PodListDecoder decoder;
  const auto once = decoder.decode(input);
  const auto again = decoder.decode(input);
  check(once.has_value() == again.has_value() && (!once || *once == *again),
        "a list that comes again is the same pods");
  for (const auto driver : {CgroupDriver::Systemd, CgroupDriver::Cgroupfs})
    (void)parsePodDirName(driver, input);
  (void)netlink::attributeIn(input, 4, 1);
}

}  // namespace koord::fuzz
