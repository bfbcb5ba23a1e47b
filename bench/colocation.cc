// What a virtual day of the co-location study costs (koordctl simulate --colocation): `cpu_s` is
// the processor time of one run. "services" is the baseline: the machine model alone, without jobs,
// reports and scheduling.

#include "bench.h"
#include "koordctl/colocation/world.h"

namespace {

using namespace koord;                        // NOLINT: a program of its own
using namespace koord::koordctl::colocation;  // NOLINT
using bench::Numbers;

Numbers measure(const Numbers& params, const Arm& arm) {
  Parameters parameters;
  parameters.nodes = params.at("nodes");
  const double before = bench::cpuSeconds();
  const auto outcome =
      runWorld(generatedSite(parameters), parameters, arm, params.at("days"), 1).value();
  return {{"cpu_s", bench::cpuSeconds() - before},
          {"jobs_finished", outcome.finished},
          {"peak_rss_mib", bench::peakRssMib()}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Benchmark> benchmarks;
  for (const Arm& arm : comparedArms())
    benchmarks.push_back({"colocation/" + arm.name,
                          {{"nodes", 100}, {"days", 1}},
                          [arm](const Numbers& params) { return measure(params, arm); }});
  return bench::runAll(argc, argv, benchmarks);
}
