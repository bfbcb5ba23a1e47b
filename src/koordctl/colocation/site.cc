#include "koordctl/colocation/site.h"

#include <fmt/format.h>

#include <algorithm>

#include "koordctl/colocation/workload.h"

namespace koord::koordctl::colocation {

namespace {

constexpr double kJobCores[] = {2, 4, 4, 8};

}  // namespace

double Site::cores() const {
  double sum = 0;
  for (const NodeSize& node : nodes) sum += node.cores;
  return sum;
}

NodeSize nodeSizeOf(const Parameters& parameters, std::string name) {
  return {.name = std::move(name),
          .cores = parameters.cores,
          .memoryGib = parameters.memoryGib,
          .systemCores = parameters.systemCores,
          .systemMemoryGib = parameters.systemMemoryGib};
}

Site generatedSite(const Parameters& parameters) {
  Site site;
  for (std::size_t n = 0; n < static_cast<std::size_t>(parameters.nodes); ++n)
    site.nodes.push_back(nodeSizeOf(parameters, fmt::format("node-{}", n)));
  site.load = [&parameters](Random random) {
    return std::make_unique<Workload>(parameters, random);
  };
  for (const double wanted : kJobCores) {
    const double cores = std::min(wanted, parameters.cores / 4);
    site.jobs.push_back({cores, cores * parameters.jobMemoryPerCore});
  }
  return site;
}

}  // namespace koord::koordctl::colocation
