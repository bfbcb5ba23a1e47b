#include "console/history/sampler.h"

#include <unordered_map>

namespace koord::console {

namespace {

std::optional<double> shareOf(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double number(std::int64_t value) {
  return static_cast<double>(value);
}

// Sums of figures, which may be as large as their type allows.
struct Sums {
  double cpu = 0, memory = 0, batchCpu = 0, batchMemory = 0, devices = 0;
  void add(const Figures& more) {
    cpu += number(more.cpu);
    memory += number(more.memory);
    batchCpu += number(more.batchCpu);
    batchMemory += number(more.batchMemory);
    devices += number(more.devices);
  }
};

}  // namespace

History::Step sampleOf(const Tables& tables) {
  History::Step step;
  Sums offered, requested, used;
  std::int64_t pods = 0, waiting = 0;
  tables.pods->forEach([&](const Row& row) {
    if (row.figures.waits) {
      ++waiting;
      return;
    }
    if (row.figures != Figures{}) ++pods;
    requested.add(row.figures);
  });
  std::unordered_map<std::string_view, const Figures*> measured;
  tables.metrics->forEach([&](const Row& row) { measured.emplace(row.key, &row.figures); });
  tables.nodes->forEach([&](const Row& row) {
    offered.add(row.figures);
    const auto metric = measured.find(row.key);
    const Figures* now = metric == measured.end() ? nullptr : metric->second;
    const std::int64_t cpu = row.figures.cpu;
    if (now) used.add(*now);
    step.nodes.emplace_back(
        row.key,
        Series<Share>::Sample{now ? shareOf(now->cpu, cpu) : std::nullopt,
                              now ? shareOf(now->memory, row.figures.memory) : std::nullopt,
                              now ? shareOf(now->batchCpu, cpu) : std::nullopt,
                              shareOf(row.figures.batchCpu, cpu)});
  });
  tables.quotas->forEach([&](const Row& row) {
    step.quotas.emplace_back(row.key,
                             Series<float>::Sample{number(row.figures.cpu), number(row.extra[0]),
                                                   number(row.extra[2]), number(row.figures.memory),
                                                   number(row.extra[1]), number(row.extra[3])});
  });
  step.cluster = {offered.cpu,
                  requested.cpu,
                  used.cpu,
                  offered.batchCpu,
                  requested.batchCpu,
                  used.batchCpu,
                  offered.memory,
                  requested.memory,
                  used.memory,
                  offered.batchMemory,
                  requested.batchMemory,
                  used.batchMemory,
                  number(pods),
                  number(waiting),
                  offered.devices / 100,
                  requested.devices / 100};
  return step;
}

}  // namespace koord::console
