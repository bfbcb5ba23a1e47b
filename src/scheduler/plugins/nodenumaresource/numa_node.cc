#include "scheduler/plugins/nodenumaresource/numa_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/codec.h"
#include "model/node_reservation.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/documents.h"

namespace koord::scheduler {

namespace {

// Sums of it over all pods of a node cannot overflow.
constexpr std::int64_t kMaxOfZone = std::int64_t{1} << 53;

class Reader {
 public:
  Reader(ResourceNames& names, NumaNode& node) : names_(names), node_(node) {}

  void readReport(const CpuReport& report) {
    node_.reported = true;
    const api::StringMap& annotations = report.metadata.annotations;
    node_.topology = report.topology;
    for (const std::string& problem : node_.cpus().problems())
      wrong(kAnnotationCpuTopology, problem);
    if (!report.problem.empty()) wrong(kAnnotationCpuTopology, report.problem);
    readPodCpus(annotations);
    readKubelet(annotations);
    readOtherReserved(annotations);
    for (const std::string& policy : report.topologyPolicies) {
      node_.policy = policy == "SingleNUMANodePodLevel" ? NumaPolicy::SingleNumaNode
                     : policy == "SingleNUMANode"       ? NumaPolicy::None
                                                        : numaPolicyOf(policy);
      if (node_.policy != NumaPolicy::None) break;
    }
    readZones(report);
  }

  void readLabels(const api::Node& node) {
    const api::StringMap& labels = node.metadata.labels;
    if (const auto* text = api::findIn(labels, kLabelCpuBindPolicy)) {
      if (*text == "FullPCPUsOnly") {
        node_.bind = CpuBindPolicy::FullPCPUs;
      } else if (*text == "SpreadByPCPUs") {
        if (node_.bind == CpuBindPolicy::None) node_.bind = CpuBindPolicy::SpreadByPCPUs;
      } else if (!text->empty() && *text != "None") {
        node_.problems.push_back(
            fmt::format("metadata.labels[{}]: unknown policy \"{}\"", kLabelCpuBindPolicy, *text));
      }
    }
    if (const auto* text = api::findIn(labels, kLabelNumaStrategy); text && !text->empty()) {
      node_.strategy = numaStrategyOf(*text);
      if (*node_.strategy == NumaStrategy::LeastAllocated && *text != "LeastAllocated")
        node_.problems.push_back(fmt::format(
            "metadata.labels[{}]: unknown strategy \"{}\", which counts as LeastAllocated",
            kLabelNumaStrategy, *text));
    }
    if (const auto* text = api::findIn(labels, kLabelNumaPolicy)) {
      const NumaPolicy policy = numaPolicyOf(*text);
      if (policy != NumaPolicy::None) node_.policy = policy;
      if (policy == NumaPolicy::None && !text->empty() && *text != "None")
        node_.problems.push_back(
            fmt::format("metadata.labels[{}]: unknown policy \"{}\"", kLabelNumaPolicy, *text));
    }
    if (const auto* text = api::findIn(node.metadata.annotations, kAnnotationAmplification))
      readRatios(*text);
    for (std::string& problem : model::problemsOfReservation(node.metadata.annotations))
      node_.problems.push_back(std::move(problem));
  }

  // Amplifies the zones of nodes with amplified capacity, unless the report has amplified them.
  void amplifyZones(const CpuReport* report) {
    if (report && api::findIn(report->metadata.annotations, kAnnotationAmplification)) return;
    for (NumaZone& zone : node_.zones) {
      for (const auto& [name, ratio] : node_.ratios) {
        const auto id = names_.find(name);
        if (!id) continue;
        const std::int64_t amount = zone.total.amount(*id);
        if (amount > 0) zone.total.set(*id, std::min(amplify(amount, ratio), kMaxOfZone));
      }
    }
  }

 private:
  void wrong(std::string_view annotation, std::string_view what) {
    node_.problems.push_back(fmt::format("metadata.annotations[{}]: {}", annotation, what));
  }

  void reserve(std::string_view annotation, std::string_view field, std::string_view list) {
    const auto cpus = CpuSet::parse(list);
    if (cpus) {
      node_.reserved = node_.reserved.unionWith(*cpus);
    } else {
      wrong(annotation, fmt::format("{}: {}", field, cpus.error().message));
    }
  }

  void readPodCpus(const api::StringMap& annotations) {
    const auto* text = api::findIn(annotations, kAnnotationPodCpuAllocs);
    if (!text || *text == "null") return;
    const auto list =
        api::decodeText<PodCpusListDocument>(R"({"pods":)" + *text + "}", api::Reading::Go);
    if (!list) return wrong(kAnnotationPodCpuAllocs, list.error().message);
    for (std::size_t i = 0; i < list->pods.size(); ++i) {
      const PodCpusDocument& pod = list->pods[i];
      if (pod.managedByKubelet && !pod.uid.empty())
        reserve(kAnnotationPodCpuAllocs, fmt::format("[{}].cpuset", i), pod.cpuset);
    }
  }

  void readKubelet(const api::StringMap& annotations) {
    const auto* text = api::findIn(annotations, kAnnotationKubeletCpus);
    if (!text) return;
    const auto kubelet = api::decodeText<KubeletCpusDocument>(*text, api::Reading::Go);
    if (!kubelet) return wrong(kAnnotationKubeletCpus, kubelet.error().message);
    node_.kubelet = api::encode(*kubelet);
    reserve(kAnnotationKubeletCpus, "reservedCPUs", kubelet->reservedCPUs);
    const auto* whole = api::findIn(kubelet->options, "full-pcpus-only");
    if (kubelet->policy == "static" && whole && *whole == "true")
      node_.bind = CpuBindPolicy::FullPCPUs;
  }

  void readOtherReserved(const api::StringMap& annotations) {
    const auto reservation = model::readNodeReservation(annotations);
    if (!reservation) {
      node_.problems.push_back(reservation.error().message);
    } else if (*reservation) {
      reserve(model::kAnnotationNodeReservation, "reservedCPUs", (*reservation)->reservedCPUs);
    }
    if (const auto* text = api::findIn(annotations, model::kAnnotationSystemQosResource)) {
      const auto system = api::decodeText<SystemCpusDocument>(*text, api::Reading::Go);
      if (!system) return wrong(model::kAnnotationSystemQosResource, system.error().message);
      if (system->cpusetExclusive.value_or(true))
        reserve(model::kAnnotationSystemQosResource, "cpuset", system->cpuset);
    }
  }

  static std::optional<int> zoneId(std::string_view name) {
    constexpr std::string_view kPrefix = "node-";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    int id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc{} || end != name.data() + name.size() || id < 0) return std::nullopt;
    return id;
  }

  void readZones(const api::NodeResourceTopology& topology) {
    for (std::size_t i = 0; i < topology.zones.size(); ++i) {
      const api::TopologyZone& zone = topology.zones[i];
      const auto id = zoneId(zone.name);
      if (zone.type != "Node" || !id) continue;
      const std::string path = fmt::format("zones[{}]", i);
      if (std::ranges::find(node_.zones, *id, &NumaZone::id) != node_.zones.end()) {
        node_.problems.push_back(fmt::format("{}.name: duplicate {}", path, zone.name));
        continue;
      }
      node_.zones.push_back({*id, readTotal(zone, path)});
      addUp(zone, path, topology.metadata.annotations);
    }
    std::ranges::sort(node_.zones, {}, &NumaZone::id);
    if (!node_.zones.empty() && node_.zones.back().id >= kMaxNumaNodes) {
      node_.problems.push_back(fmt::format("zones: node-{} is above node-{}, zones are ignored",
                                           node_.zones.back().id, kMaxNumaNodes - 1));
      node_.zones.clear();
    }
    std::vector<int> ids;
    for (const NumaZone& zone : node_.zones) {
      node_.zoneAt[static_cast<std::size_t>(zone.id)] = static_cast<std::uint8_t>(ids.size());
      ids.push_back(zone.id);
    }
    node_.zoneSets = numaSubsets(ids);
    if (!node_.zoneSets.empty()) node_.allZones = node_.zoneSets.back();
  }

  // Reports amounts that contradict each other or the reported CPUs. They count as they are.
  void addUp(const api::TopologyZone& zone, const std::string& path,
             const api::StringMap& annotations) {
    const bool amplified = api::findIn(annotations, kAnnotationAmplification) != nullptr;
    const auto cpus = static_cast<std::int64_t>(node_.cpus().cpusOfNuma(*zoneId(zone.name)).size());
    for (std::size_t i = 0; i < zone.resources.size(); ++i) {
      const api::ZoneResource& resource = zone.resources[i];
      const auto tooMuch = [&](const std::string& most) {
        node_.problems.push_back(fmt::format("{}.resources[{}].allocatable: {} is more than {}",
                                             path, i, resource.allocatable.toString(), most));
      };
      if (!resource.capacity.isZero() && resource.capacity < resource.allocatable) {
        tooMuch("the capacity " + resource.capacity.toString());
      } else if (resource.name == model::kCpu && node_.valid() && !amplified &&
                 Quantity::of(cpus) < resource.allocatable) {
        tooMuch(fmt::format("the {} CPUs of that NUMA node", cpus));
      }
    }
  }

  Resources readTotal(const api::TopologyZone& zone, const std::string& path) {
    api::ResourceList list;
    for (std::size_t i = 0; i < zone.resources.size(); ++i) {
      const api::ZoneResource& resource = zone.resources[i];
      if (resource.allocatable.sign() < 0) {
        node_.problems.push_back(fmt::format("{}.resources[{}].allocatable: {} is negative", path,
                                             i, resource.allocatable.toString()));
        continue;
      }
      list[resource.name] = resource.allocatable;
    }
    Resources total = toResources(names_, list);
    Resources held;
    total.forEach([&](ResourceId id, std::int64_t amount) {
      held.set(id, std::clamp<std::int64_t>(amount, 0, kMaxOfZone));
    });
    const int reserved =
        node_.reserved.intersect(node_.cpus().cpusOfNuma(*zoneId(zone.name))).size();
    held.base[kCpu] = std::max<std::int64_t>(held.base[kCpu] - std::int64_t{1000} * reserved, 0);
    return held;
  }

  void readRatios(const std::string& text) {
    const auto document = parseJson(text);
    std::string problem;
    if (!document) {
      problem = document.error().message;
    } else if (!document->is_null() && !document->is_object()) {
      problem = "expected an object of numbers";
    }
    if (problem.empty() && document->is_object()) {
      for (const auto& [name, value] : document->get_object()) {
        const double ratio = value.is_double()  ? value.get_double()
                             : value.is_int64() ? static_cast<double>(value.get_int64())
                                                : std::nan("");
        if (!std::isfinite(ratio)) {
          problem = fmt::format("{}: expected a number", std::string_view(name));
          break;
        }
        if (ratio < 0)
          wrong(kAnnotationAmplification,
                fmt::format("{}: {} is negative", std::string_view(name), ratio));
        if (ratio > 1) node_.ratios[std::string(name)] = std::min(ratio, 1e6);
      }
    }
    if (!problem.empty()) {
      wrong(kAnnotationAmplification, problem);
      node_.badRatios = true;
      node_.ratios.clear();
      return;
    }
    if (const auto cpu = node_.ratios.find(model::kCpu); cpu != node_.ratios.end())
      node_.cpuRatio = cpu->second;
  }

  ResourceNames& names_;
  NumaNode& node_;
};

}  // namespace

const CpuTopology& NumaNode::cpus() const {
  static const CpuTopology kNone;
  return topology ? *topology : kNone;
}

NumaPolicy numaPolicyOf(std::string_view text) {
  return text == "BestEffort"       ? NumaPolicy::BestEffort
         : text == "Restricted"     ? NumaPolicy::Restricted
         : text == "SingleNUMANode" ? NumaPolicy::SingleNumaNode
                                    : NumaPolicy::None;
}

std::string_view nameOf(NumaPolicy policy) {
  switch (policy) {
    case NumaPolicy::None:
      return "";
    case NumaPolicy::BestEffort:
      return "BestEffort";
    case NumaPolicy::Restricted:
      return "Restricted";
    case NumaPolicy::SingleNumaNode:
      return "SingleNUMANode";
  }
  return "";
}

std::int64_t amplify(std::int64_t amount, double ratio) {
  if (ratio <= 1) return amount;
  const double amplified = std::ceil(static_cast<double>(amount) * ratio);
  return amplified >= 9e18 ? kMaxAmount : static_cast<std::int64_t>(amplified);
}

NumaNode readNumaNode(ResourceNames& names, const api::Node* node, const CpuReport* report) {
  NumaNode read;
  Reader reader(names, read);
  if (report) reader.readReport(*report);
  if (node) reader.readLabels(*node);
  reader.amplifyZones(report);
  return read;
}

}  // namespace koord::scheduler
