#pragma once

// Site: what all configurations of a study share: the nodes, the load of the services, and the
// shapes of the jobs.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "koordctl/colocation/load.h"
#include "koordctl/colocation/parameters.h"

namespace koord::koordctl::colocation {

struct NodeSize {
  std::string name;
  double cores = 0;
  double memoryGib = 0;
  double systemCores = 0;  // used by the system
  double systemMemoryGib = 0;
};

struct JobShape {
  double cores = 0;
  double memoryGib = 0;  // requested
};

struct Site {
  std::vector<NodeSize> nodes;
  // Equal random sources yield equal loads.
  std::function<std::unique_ptr<Load>(Random random)> load;
  std::vector<JobShape> jobs;  // equally frequent; not empty

  double cores() const;  // of all nodes
};

NodeSize nodeSizeOf(const Parameters& parameters, std::string name);

// The site of `koordctl simulate --colocation`: equal nodes, a generated load (workload.h).
// `parameters` must outlive it.
Site generatedSite(const Parameters& parameters);

}  // namespace koord::koordctl::colocation
