// What the search for GPU relocations costs (koord-descheduler's plugin GPUDefragmentation): nodes
// of eight GPUs, each shared by pods of 20 to 60 %, and waiting pods of several kinds. `search` is
// the time of one kind on all nodes, during which nothing else runs on the descheduler's thread;
// `places` that of one relocation. With `room` 0 no node has a gap for a pod that moves, so that
// each search for places looks at all nodes.

#include <algorithm>

#include "base/random.h"
#include "bench.h"
#include "descheduler/plugins/gpudefragmentation/relocation.h"

namespace {

using namespace koord;               // NOLINT: a program of its own
using namespace koord::descheduler;  // NOLINT
using bench::Numbers;

constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr std::size_t kKinds = 16;

NodeGaps nodeWith(std::size_t& pods, Random& random, bool room) {
  NodeGaps node{.milliCpu = 128'000,
                .memory = 1024 * kGib,
                .slots = 110,
                .bytesOfGpu = 80 * kGib,
                .free = std::vector<std::int64_t>(8, 100),
                .tenants = {},
                .leaving = {}};
  for (std::int64_t gpu = 0; gpu < 8; ++gpu) {
    while (node.free[static_cast<std::size_t>(gpu)] >= (room ? 60 : 20)) {
      const std::int64_t most =
          std::min<std::int64_t>(60, node.free[static_cast<std::size_t>(gpu)]);
      const auto percent =
          20 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) - 19));
      NodeGaps::Tenant tenant{pods++, 0, {2000, 8 * kGib, {1, percent, 0}}, {{gpu, percent}}};
      node.release(tenant, -1);
      node.tenants.push_back(std::move(tenant));
    }
  }
  return node;
}

Numbers measure(const Numbers& params) {
  Random random(1);
  std::size_t pods = 0;
  std::vector<NodeGaps> nodes;
  for (int n = 0; n < static_cast<int>(params.at("nodes")); ++n)
    nodes.push_back(nodeWith(pods, random, params.at("room") > 0));
  std::vector<WaitingPods> waiting;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const std::int64_t gpus = 1 + static_cast<std::int64_t>(kind % 2);
    waiting.push_back({{1000 + static_cast<std::int64_t>(kind), kGib, {gpus, 100, 0}}, 0, 1});
  }
  const Relocations all(std::move(nodes), std::move(waiting));
  const auto everywhere = [](std::size_t, std::size_t) { return true; };
  std::vector<double> searches, places;
  double found = 0, possible = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const bench::Stopwatch searching;
    const auto some = all.findFor(kind, 2, everywhere);
    searches.push_back(searching.seconds() * 1000);
    found += static_cast<double>(some.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(some.size(), 16); ++i) {
      const bench::Stopwatch placing;
      possible += all.placesOf(some[i], everywhere) ? 1 : 0;
      places.push_back(placing.seconds() * 1000);
    }
  }
  Numbers out{{"pods", static_cast<double>(pods)},
              {"relocations", found},
              {"with_places", possible},
              {"search_ms", bench::percentile(searches, 0.5)},
              {"search_ms_most", bench::percentile(searches, 1)}};
  if (!places.empty()) {
    out["places_ms"] = bench::percentile(places, 0.5);
    out["places_ms_most"] = bench::percentile(places, 1);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::runAll(argc, argv,
                       {{"gpu_relocations", {{"nodes", 5000}, {"room", 0}}, measure},
                        {"gpu_relocations", {{"nodes", 5000}, {"room", 1}}, measure}});
}
