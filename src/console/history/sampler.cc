#include "console/history/sampler.h"

#include <unordered_map>

namespace koord::console {

namespace {

std::optional<double> shareOf(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void add(Figures& sum, const Figures& more) {
  sum.cpu += more.cpu;
  sum.memory += more.memory;
  sum.batchCpu += more.batchCpu;
  sum.batchMemory += more.batchMemory;
  sum.devices += more.devices;
}

double number(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

History::Step sampleOf(const Tables& tables) {
  History::Step step;
  Figures offered, requested, used;
  std::int64_t pods = 0, waiting = 0;
  tables.pods->forEach([&](const Row& row) {
    if (row.figures.waits) {
      ++waiting;
      return;
    }
    if (row.figures != Figures{}) ++pods;
    add(requested, row.figures);
  });
  std::unordered_map<std::string_view, const Figures*> measured;
  tables.metrics->forEach([&](const Row& row) { measured.emplace(row.key, &row.figures); });
  tables.nodes->forEach([&](const Row& row) {
    add(offered, row.figures);
    const auto metric = measured.find(row.key);
    const Figures* now = metric == measured.end() ? nullptr : metric->second;
    const std::int64_t cpu = row.figures.cpu;
    if (now) add(used, *now);
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
  step.cluster = {number(offered.cpu),
                  number(requested.cpu),
                  number(used.cpu),
                  number(offered.batchCpu),
                  number(requested.batchCpu),
                  number(used.batchCpu),
                  number(offered.memory),
                  number(requested.memory),
                  number(used.memory),
                  number(offered.batchMemory),
                  number(requested.batchMemory),
                  number(used.batchMemory),
                  number(pods),
                  number(waiting),
                  number(offered.devices) / 100,
                  number(requested.devices) / 100};
  return step;
}

}  // namespace koord::console
