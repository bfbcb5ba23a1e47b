#pragma once

// What the checkers of scheduler plugins share: a cluster from a case, one plugin run on it, and
// its answers in the form of the vectors.

#include <memory>

#include "golden/golden.h"
#include "scheduler/testing/world.h"

namespace koord::golden {

struct Scene {
  scheduler::testing::World world;
  scheduler::PodPtr pod;
  std::vector<scheduler::NodeId> nodes;  // ascending
};

// From the members nodes, existingPods and pod.
Result<std::unique_ptr<Scene>> makeScene(const json::object& testCase);

// "Success", or {code, reasons sorted}.
json::value statusOutput(const scheduler::Status& status);

// Runs PreFilter and Filter: {preFilter, nodes: {name: status}}. `passed` gets the nodes that are
// left. Points that the plugin lacks count as Success.
json::object filterOutput(Scene& scene, scheduler::Plugin& plugin,
                          std::vector<scheduler::NodeId>& passed);
// Runs PreScore, Score and normalisation on the nodes: {preScore, raw: {name: n}, normalized:
// {name: n}}; the latter only where the plugin normalises.
json::object scoreOutput(Scene& scene, scheduler::Plugin& plugin,
                         const std::vector<scheduler::NodeId>& nodes);

}  // namespace koord::golden
