#include "scenario/virtual/machine.h"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cluster/simnode/kwok.h"
#include "koordlet/system/conversions.h"
#include "kube/client.h"
#include "model/resources.h"
#include "model/well_known.h"
#include "net/prometheus.h"

// Each second: cgroups are created and removed with their pods; latency-sensitive pods run, then BE
// pods with the remaining CPU; counters advance; koordlet reads them in the same second, and its
// writes take effect in the next one. A pod uses as much as it wants, limited by quotas and CPUs of
// its cgroup and its parents. If it wants more than its quota, half of its periods are throttled.
// Cost: files for each container and second, some ten microseconds each.

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;
using koordlet::CgroupFile;

constexpr std::string_view kNamespace = "kube-node-lease";
// The shown files of a cgroup, and the additional files of a kernel of Anolis or of version 2.
constexpr CgroupFile kShown[] = {
    CgroupFile::CpuShares,     CgroupFile::CpuCfsQuota,     CgroupFile::CpuCfsBurst,
    CgroupFile::CpuBvtWarpNs,  CgroupFile::CpuIdle,         CgroupFile::CpusetCpus,
    CgroupFile::MemoryLimit,   CgroupFile::MemoryMin,       CgroupFile::MemoryLow,
    CgroupFile::MemoryHigh,    CgroupFile::MemoryPriority,  CgroupFile::MemoryOomGroup,
    CgroupFile::BlkioReadIops, CgroupFile::BlkioWriteIops,  CgroupFile::BlkioReadBps,
    CgroupFile::BlkioWriteBps, CgroupFile::BlkioCostWeight, CgroupFile::IoMax,
    CgroupFile::IoWeight};
constexpr std::pair<CgroupFile, std::string_view> kExtraFiles[] = {
    {CgroupFile::CpuCfsBurst, "0"},    {CgroupFile::CpuBvtWarpNs, "0"},
    {CgroupFile::CpuIdle, "0"},        {CgroupFile::MemoryMin, "0"},
    {CgroupFile::MemoryLow, "0"},      {CgroupFile::MemoryHigh, "max"},
    {CgroupFile::MemoryPriority, "0"}, {CgroupFile::MemoryOomGroup, "0"},
    {CgroupFile::BlkioReadIops, ""},   {CgroupFile::BlkioWriteIops, ""},
    {CgroupFile::BlkioReadBps, ""},    {CgroupFile::BlkioWriteBps, ""},
    {CgroupFile::IoMax, ""},           {CgroupFile::IoWeight, "default 100"}};

std::string containerIdOf(const api::Pod& pod, std::string_view container) {
  return fmt::format("containerd://{}-{}", pod.metadata.uid, container);
}

// The node's pods as reported by a kubelet with containerd.
struct InformedPods final : koordlet::PodSource {
  explicit InformedPods(kube::Informer<api::Pod>& pods) : pods(pods) {}
  kube::Informer<api::Pod>& pods;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node& node) override {
    std::vector<std::shared_ptr<const api::Pod>> result;
    for (const auto& pod : pods.objects()) {
      if (pod->spec.nodeName != node.metadata.name) continue;
      auto copy = std::make_shared<api::Pod>(*pod);
      for (auto& status : copy->status.containerStatuses)
        status.containerID = containerIdOf(*pod, status.name);
      result.push_back(std::move(copy));
    }
    co_return result;
  }
};

koordlet::AgentOptions agentOptions(const std::string& node, koordlet::TempTree& tree,
                                    koordlet::FeatureGates gates) {
  koordlet::AgentOptions options;
  options.nodeName = node;
  options.dirs = tree.dirs();
  options.gates = std::move(gates);
  options.historyDir = tree.path("history");
  options.prediction.directory = tree.path("predictions");
  return options;
}

Error wants(std::string_view member, std::string_view what) {
  return {ErrorCode::Invalid, fmt::format("{}: {}", member, what), {}};
}

Result<int> numberIn(const json::value& document, std::string_view name, int fallback) {
  const auto* member = find(document, name);
  if (!member) return fallback;
  if (!member->is_int64() || member->get_int64() < 1 || member->get_int64() > 64)
    return fail(wants(name, "a number from 1 to 64"));
  return static_cast<int>(member->get_int64());
}

Result<koordlet::CgroupVersion> cgroupIn(const json::value& document) {
  const auto* member = find(document, "cgroup");
  if (!member || *member == "v2") return koordlet::CgroupVersion::V2;
  if (*member == "v1") return koordlet::CgroupVersion::V1;
  return fail(wants("cgroup", "v1 or v2"));
}

Result<> readList(const json::value& document, std::string_view name, std::string_view entries,
                  std::vector<std::string>& into) {
  const auto* list = find(document, name);
  if (!list) return {};
  if (!list->is_array()) return fail(wants(name, entries));
  for (const auto& entry : list->get_array()) {
    if (!entry.is_string()) return fail(wants(name, entries));
    into.emplace_back(entry.get_string());
  }
  return {};
}

Result<> readFiles(const json::value& document, MachineSpec& spec) {
  if (const auto* files = find(document, "files")) {
    if (!files->is_object()) return fail(wants("files", "an object with string values by path"));
    for (const auto& [path, text] : files->get_object()) {
      if (!text.is_string()) return fail(wants(fmt::format("files[{}]", path), "a text"));
      spec.files.emplace(path, text.get_string());
    }
  }
  if (auto read = readList(document, "show", "a list of paths", spec.show); !read) return read;
  return readList(document, "metrics", "a list of names", spec.metrics);
}

// The series of counters and gauges: an object of the labels and "value" for each.
json::object seriesByName(const prometheus::Collectable& registry,
                          const std::vector<std::string>& names) {
  json::object found;
  for (const auto& name : names) found[name] = json::array();
  for (const auto& family : registry.Collect()) {
    auto* list = found.if_contains(family.name);
    if (!list) continue;
    for (const auto& metric : family.metric) {
      json::object series;
      for (const auto& label : metric.label) series[label.name] = label.value;
      series["value"] = net::prometheusNumber(family.type == prometheus::MetricType::Counter
                                                  ? metric.counter.value
                                                  : metric.gauge.value);
      list->get_array().push_back(std::move(series));
    }
  }
  return found;
}

}  // namespace

Result<MachineSpec> machineSpecOf(const api::Node& node, std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  if (!document->is_object()) return fail(ErrorCode::Invalid, "must be a JSON object");
  MachineSpec spec;
  const auto version = cgroupIn(*document);
  if (!version) return fail(version.error());
  spec.version = *version;
  const auto threads = numberIn(*document, "threadsPerCore", 1);
  if (!threads) return fail(threads.error());
  const auto zones = numberIn(*document, "numaNodes", 1);
  if (!zones) return fail(zones.error());
  const auto& capacity = node.status.capacity;
  const auto cpus = static_cast<int>(model::amountOf(capacity, model::kCpu).value());
  const auto memory = model::amountOf(capacity, model::kMemory).value();
  spec.machine = {.cpus = std::max(cpus, 1),
                  .threadsPerCore = *threads,
                  .numaNodes = *zones,
                  .memoryBytes = std::max<std::int64_t>(memory, 1 << 20)};
  if (const auto* gates = find(*document, "gates")) {
    if (!gates->is_string()) return fail(wants("gates", "a text"));
    spec.gates = gates->get_string();
  }
  if (auto read = readFiles(*document, spec); !read) return fail(std::move(read.error()));
  return spec;
}

Machine::Machine(kube::Api& api, kube::Api& asKoordlet, Executor& executor,
                 std::shared_ptr<const api::Node> node, MachineSpec spec,
                 kube::Informer<api::Pod>& pods, koordlet::FeatureGates gates, Random random)
    : api_(api),
      executor_(executor),
      node_(std::move(node)),
      spec_(std::move(spec)),
      pods_(pods),
      files_(spec_.version, spec_.machine) {
  for (const auto& [path, text] : spec_.files) files_.tree().write(path, text);
  for (const auto qos : koordlet::kKubeQosClasses) complete(qosDir(files_.driver(), qos));
  auto host = koordlet::Host::detect(files_.dirs());
  if (!host) {
    log::error("machine of node {}: {}", node_->metadata.name, host.error().message);
    return;
  }
  host_ = *std::move(host);
  reader_.emplace(host_->layout);
  agent_ = std::make_unique<koordlet::Agent>(
      executor, asKoordlet, agentOptions(node_->metadata.name, files_.tree(), std::move(gates)),
      *host_, metrics_, koordlet::AgentSources{std::make_unique<InformedPods>(pods_)}, random);
}

Machine::~Machine() = default;

void Machine::start() {
  if (!agent_) return;
  tasks_.spawn(live());
  agent_->start();
}

Task<void> Machine::live() {
  for (;;) {
    files_.settle();
    followPods();
    work();
    auto pause = sleepFor(executor_, 1s);
    co_await pause;
    auto publishing = publish();
    co_await publishing;
  }
}

void Machine::complete(const std::string& dir) {
  for (const auto& [file, text] : kExtraFiles)
    if (!fileNameIn(file, spec_.version).empty()) files_.setCgroupText(file, dir, text);
}

void Machine::addPod(const std::shared_ptr<const api::Pod>& pod) {
  Place place{pod, model::kubernetesQos(*pod), {}, {}};
  std::vector<std::string> ids;
  for (const auto& container : pod->spec.containers)
    ids.push_back(containerIdOf(*pod, container.name));
  place.dir = files_.addPod(place.qos, pod->metadata.uid, ids);
  complete(place.dir);
  for (const auto& container : pod->spec.containers) {
    place.containers.push_back(
        {container.name, files_.containerDir(place.dir, containerIdOf(*pod, container.name))});
    const auto& dir = place.containers.back().dir;
    complete(dir);
    // Values that kubelet and the runtime set.
    const auto limit = model::amountOf(container.resources.limits, model::kCpu).milliValue();
    if (limit <= 0) continue;
    const auto quota = limit * koordlet::kCfsPeriodUs / 1000;
    for (const auto& limited : {dir, place.dir})
      files_.setCgroupText(CgroupFile::CpuCfsQuota, limited,
                           spec_.version == koordlet::CgroupVersion::V1
                               ? std::to_string(quota)
                               : fmt::format("{} {}", quota, koordlet::kCfsPeriodUs));
  }
  places_.emplace(pod->metadata.uid, std::move(place));
}

void Machine::followPods() {
  std::map<std::string, std::shared_ptr<const api::Pod>> running;
  for (const auto& pod : pods_.objects())
    if (pod->spec.nodeName == node_->metadata.name && pod->status.phase == "Running")
      running.emplace(pod->metadata.uid, pod);
  std::erase_if(places_, [&](const auto& entry) {
    if (running.contains(entry.first)) return false;
    files_.removePod(entry.second.qos, entry.first);
    return true;
  });
  for (const auto& [uid, pod] : running) {
    const auto known = places_.find(uid);
    if (known == places_.end()) {
      addPod(pod);
    } else {
      known->second.pod = pod;
    }
  }
}

double Machine::most(const std::string& dir) {
  double cores = spec_.machine.cpus;
  if (const auto quota = reader_->cfsQuotaUs(dir); quota && *quota > 0)
    cores = static_cast<double>(*quota) / static_cast<double>(koordlet::kCfsPeriodUs);
  if (const auto cpus = reader_->cpuset(dir); cpus && !cpus->empty())
    cores = std::min(cores, static_cast<double>(cpus->size()));
  return cores;
}

void Machine::setPressure(const std::string& dir, double done, double wanted) {
  if (spec_.gates.find("PSICollector") == std::string::npos) return;
  const double share = wanted > done && wanted > 0 ? 100 * (1 - done / wanted) : 0;
  const std::string cpu =
      fmt::format("some avg10={0:.2f} avg60={0:.2f} avg300={0:.2f} total=0\n", share) +
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
  const std::string none =
      "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
  files_.setCgroupText(CgroupFile::CpuPressure, dir, cpu);
  files_.setCgroupText(CgroupFile::MemoryPressure, dir, none);
  files_.setCgroupText(CgroupFile::IoPressure, dir, none);
}

double Machine::workOf(const Place& place, double left) {
  const double wanted = static_cast<double>(cluster::usageOf(*place.pod).cpuMilli) / 1000;
  const auto parts = static_cast<double>(std::max<std::size_t>(place.containers.size(), 1));
  double done = 0;
  bool throttled = false;
  for (const auto& container : place.containers) {
    const double allowed = std::min(most(container.dir), most(place.dir) / parts);
    const double cores = std::clamp(wanted / parts, 0.0, std::min(allowed, left / parts));
    files_.consumeCpu(container.dir, cores, 1s);
    files_.addPeriods(container.dir, 10, wanted / parts > allowed ? 5 : 0);
    setPressure(container.dir, cores, wanted / parts);
    throttled = throttled || wanted / parts > allowed;
    done += cores;
  }
  files_.addPeriods(place.dir, 10, throttled ? 5 : 0);
  setPressure(place.dir, done, wanted);
  return done;
}

void Machine::work() {
  const auto system = cluster::systemUsageOf(*node_);
  const double systemCores = static_cast<double>(system.cpuMilli) / 1000;
  files_.consumeSystemCpu(systemCores, 1s);
  std::int64_t memory = system.memoryBytes;
  double left = spec_.machine.cpus - systemCores;
  for (const bool bestEffort : {false, true}) {
    if (bestEffort) left = std::min(left, most(host_->besteffort()));
    for (const auto& [uid, place] : places_) {
      if ((place.qos == koordlet::KubeQos::BestEffort) != bestEffort) continue;
      left -= workOf(place, std::max(left, 0.0));
      const auto bytes = cluster::usageOf(*place.pod).memoryBytes;
      files_.setMemory(place.dir, bytes);
      for (const auto& container : place.containers)
        files_.setMemory(container.dir, bytes / static_cast<std::int64_t>(place.containers.size()));
      memory += bytes;
    }
  }
  useMemory(std::min(memory, spec_.machine.memoryBytes));
}

void Machine::useMemory(std::int64_t bytes) {
  files_.setMemoryUsed(bytes);
  const std::int64_t kib = spec_.machine.memoryBytes / spec_.machine.numaNodes / 1024;
  const std::int64_t used = bytes / spec_.machine.numaNodes / 1024;
  for (int node = 0; node < spec_.machine.numaNodes; ++node) {
    const std::string path = fmt::format("sys/devices/system/node/node{}/meminfo", node);
    if (spec_.files.contains(path)) continue;
    files_.tree().write(path, fmt::format("Node {0} MemTotal: {1} kB\nNode {0} MemFree: {2} kB\n",
                                          node, kib, kib - used));
  }
}

json::value Machine::filesOf(const std::string& dir) const {
  json::object files;
  for (const CgroupFile file : kShown) {
    const auto name = fileNameIn(file, spec_.version);
    if (name.empty()) continue;
    if (const auto text = files_.cgroupText(file, dir); !text.empty()) files[name] = text;
  }
  return files;
}

json::object Machine::picture() {
  json::object data;
  const auto show = [&](const std::string& name, const std::string& dir) {
    data[name] = toJson(filesOf(dir));
  };
  show("kubepods", host_->kubepods());
  show("besteffort", host_->besteffort());
  show("burstable", qosDir(files_.driver(), koordlet::KubeQos::Burstable));
  for (const auto& [uid, place] : places_) {
    const auto& metadata = place.pod->metadata;
    const std::string name = fmt::format("{}.{}", metadata.namespace_, metadata.name);
    show(name, place.dir);
    for (const auto& container : place.containers) show(name + "." + container.name, container.dir);
  }
  json::object shown;
  for (const auto& path : spec_.show) shown[path] = files_.tree().read(path);
  data["machine"] = toJson(shown);
  json::value view = agent_->views().qos();
  view.get_object().erase("time");
  if (auto* suppress = find(view, "cpuSuppress")) suppress->get_object().erase("rounds");
  data["koordlet"] = toJson(view);
  if (!spec_.metrics.empty())
    data["metrics"] = toJson(seriesByName(metrics_.external(), spec_.metrics));
  return data;
}

Task<void> Machine::publish() {
  auto data = picture();
  if (data == published_) co_return;
  const bool first = published_.empty();
  published_ = std::move(data);
  const api::ObjectKey key{std::string(kNamespace), node_->metadata.name};
  json::value object = json::object{
      {"metadata", {{"name", key.name}, {"namespace", key.namespace_}}}, {"data", published_}};
  auto writing = first ? kube::createObject(api_, api::ConfigMap::kType, key, std::move(object))
                       : kube::updateObject(api_, api::ConfigMap::kType, key, std::move(object));
  const auto written = co_await writing;
  if (!written)
    log::error("machine of node {} not published: {}", key.name, written.error().message);
}

}  // namespace koord::scenario
