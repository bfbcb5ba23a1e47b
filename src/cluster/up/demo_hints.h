#pragma once

// What to try with the co-location demo: one command a line, as examples/colocation/README.md
// explains them.

#include <string>
#include <vector>

namespace koord::cluster {

struct DemoHint {
  std::string what;
  std::string command;
};

const std::vector<DemoHint>& demoHints();

// The hints as a shell script of comments and commands, which begins with the kubeconfig.
std::string demoHintsText(const std::string& kubeconfig);

}  // namespace koord::cluster
