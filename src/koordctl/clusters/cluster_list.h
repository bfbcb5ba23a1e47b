#pragma once

// The clusters of this host and what they do, for `koordctl ls`.

#include <cstdint>
#include <string>
#include <vector>

namespace koord::koordctl {

struct ClusterLine {
  std::string name;
  std::string dataDir;
  // running, paused, changing (starts, pauses or continues), stopped, incomplete (its restore was
  // interrupted), or busy (the process on the folder starts, restores, or is 'koordctl join').
  // "running" with a problem if its control socket does not respond.
  std::string state;
  std::string problem;
  std::string server;      // "" unless it runs
  std::string kubeconfig;  // "" unless it runs
  std::int64_t nodes = 0;
  std::int64_t pods = 0;
  std::int64_t uptimeSeconds = 0;
};

// Asks each cluster that runs.
std::vector<ClusterLine> listClusters();

std::string clustersText(const std::vector<ClusterLine>& clusters);
std::string clustersJson(const std::vector<ClusterLine>& clusters);

}  // namespace koord::koordctl
