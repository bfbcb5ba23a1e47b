#include "koordctl/explain/node_picture.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "base/cpuset.h"
#include "base/quantity.h"
#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

constexpr char kFree = '.';
constexpr char kReserved = '#';
constexpr char kOther = '*';  // more pods than letters
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::optional<std::int64_t> numberAt(const json::value& value, std::string_view key) {
  const auto* member = at(value, key);
  return member && member->is_int64() ? std::optional(member->get_int64()) : std::nullopt;
}

CpuSet cpusAt(const json::value& value, std::string_view key) {
  return CpuSet::parse(textAt(value, key)).value_or(CpuSet());
}

// Socket, then NUMA node, then core, to CPUs in ascending order.
using Cores = std::map<std::int64_t, std::vector<int>>;
using Machine = std::map<std::int64_t, std::map<std::int64_t, Cores>>;

Machine machineOf(const json::value& answer) {
  Machine machine;
  const auto* details = at(answer, "cpuTopology", "cpuDetails");
  if (!details || !details->is_object()) return machine;
  std::map<int, const json::value*> cpus;
  for (const auto& [name, cpu] : details->get_object())
    if (const auto id = numberAt(cpu, "cpuID"); id && *id >= 0 && *id < CpuSet::kMaxCpus)
      cpus[static_cast<int>(*id)] = &cpu;
  for (const auto& [id, cpu] : cpus)
    machine[numberAt(*cpu, "socketID").value_or(0)][numberAt(*cpu, "nodeID").value_or(0)]
           [numberAt(*cpu, "coreID").value_or(0)]
               .push_back(id);
  return machine;
}

void addCores(std::string& out, std::int64_t numa, const Cores& cores,
              const std::map<int, char>& marks) {
  const std::string first = fmt::format("  NUMA {:<3}", numa);
  std::string line = first;
  for (const auto& [core, cpus] : cores) {
    std::string text = " ";
    for (const int cpu : cpus) {
      const auto mark = marks.find(cpu);
      text += mark == marks.end() ? kFree : mark->second;
    }
    if (line.size() + text.size() > kWidth) {
      out += line + "\n";
      line = std::string(first.size(), ' ');
    }
    line += text;
  }
  out += line + "\n";
}

// The free amount of a zone counts only pods with a zone. CPUs that are bound without a zone are
// taken, too, so it is at most the free CPUs.
std::string leftOf(const json::value& answer, std::int64_t numa, std::string_view resource,
                   const std::string& amount) {
  const auto* details = at(answer, "cpuTopology", "cpuDetails");
  const auto left = Quantity::parse(amount);
  if (resource != "cpu" || !left || !details || !details->is_object()) return amount;
  const CpuSet free = cpusAt(answer, "availableCPUs");
  std::int64_t cpus = 0;
  for (const auto& [name, cpu] : details->get_object()) {
    const auto id = numberAt(cpu, "cpuID");
    if (!id || *id < 0 || *id >= CpuSet::kMaxCpus || numberAt(cpu, "nodeID") != numa) continue;
    if (free.contains(static_cast<int>(*id))) ++cpus;
  }
  const auto* ratio = at(answer, "amplificationRatios", "cpu");
  const double worth = ratio ? realNumber(*ratio).value_or(1) : 1;
  const auto most = static_cast<std::int64_t>(std::ceil(1000 * worth * static_cast<double>(cpus)));
  return left->milliValue() <= most ? amount : Quantity::ofMilli(most).toString();
}

}  // namespace

std::string nodePicture(const json::value& answer) {
  std::string out = fmt::format("Node   {}\n", textAt(answer, "name"));
  if (const auto* topology = at(answer, "cpuTopology")) {
    addParagraph(
        out, "CPUs   ",
        fmt::format("{} on {} cores, {} NUMA nodes, {} sockets", scalar(at(*topology, "numCPUs")),
                    scalar(at(*topology, "numCores")), scalar(at(*topology, "numNodes")),
                    scalar(at(*topology, "numSockets"))));
  }
  for (const auto& [what, key] : {std::pair{"Free   ", "availableCPUs"},
                                  {"Kept   ", "reservedCPUs"},
                                  {"NUMA   ", "numaTopologyPolicy"}})
    if (const auto text = textAt(answer, key); !text.empty()) addParagraph(out, what, text);

  std::map<int, char> marks;
  cpusAt(answer, "reservedCPUs").forEach([&](int cpu) { marks[cpu] = kReserved; });
  std::vector<Row> holders{{"MARK", "POD", "CPUS"}};
  std::size_t next = 0;
  for (const auto& pod : arrayAt(answer, "allocatedPods")) {
    const CpuSet cpus = cpusAt(pod, "cpuset");
    if (cpus.empty()) continue;
    const char letter = next < kLetters.size() ? kLetters[next++] : kOther;
    cpus.forEach([&](int cpu) { marks[cpu] = letter; });
    holders.push_back({std::string(1, letter),
                       fmt::format("{}/{}", textAt(pod, "namespace"), textAt(pod, "name")),
                       cpus.toString()});
  }
  for (const auto& [socket, numas] : machineOf(answer)) {
    out += fmt::format("\nSocket {}\n", socket);
    for (const auto& [numa, cores] : numas) addCores(out, numa, cores, marks);
  }
  out += fmt::format("\n{} free, {} reserved\n", kFree, kReserved);
  if (holders.size() > 1) addTable(out, holders);
  std::vector<Row> zones{{"NUMA", "OF", "LEFT"}};
  for (const auto& zone : arrayAt(answer, "numaNodeResources")) {
    std::string all, left;
    const std::string id = scalar(at(zone, "node"));
    const auto add = [](std::string& text, const json::value& part, auto&& shown) {
      const auto* resources = at(part, "resources");
      if (!resources || !resources->is_object()) return;
      for (const auto& [name, amount] : resources->get_object())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", std::string_view(name),
                            shown(std::string_view(name), scalar(&amount)));
    };
    add(all, zone, [](std::string_view, const std::string& amount) { return amount; });
    const std::int64_t numa = numberAt(zone, "node").value_or(-1);
    for (const auto& part : arrayAt(answer, "remainingNUMANodeResources")) {
      if (scalar(at(part, "node")) != id) continue;
      add(left, part, [&](std::string_view name, const std::string& amount) {
        return leftOf(answer, numa, name, amount);
      });
    }
    zones.push_back({id, all, left});
  }
  if (zones.size() > 1) addTable(out, zones);
  return out;
}

}  // namespace koord::koordctl
