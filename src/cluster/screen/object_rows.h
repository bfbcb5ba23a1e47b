#pragma once

// The lists of the screen: one row an object.

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/screen/objects.h"
#include "cluster/screen/row.h"
#include "cluster/screen/status.h"

namespace koord::cluster {

const std::vector<Column>& nodeColumns();
std::vector<Row> nodeRows(const ClusterStatus& status);

// "this host", "simulated", "NotReady", ...
std::string stateOfNode(const NodeLine& node);

// Usage is that of running pods, from the reports of their nodes.
const std::vector<Column>& podColumns();
inline constexpr std::size_t kPodCpu = 2;  // the column of CPU in use
std::vector<Row> podRows(const Objects& objects);

// Unfinished moves first, then the latest first.
const std::vector<Column>& moveColumns();
std::vector<Row> moveRows(const Objects& objects);

// Quota trees: parents before their children, which are indented.
const std::vector<Column>& quotaColumns();
std::vector<Row> quotaRows(const Objects& objects);

// The latest first.
const std::vector<Column>& eventColumns();
std::vector<Row> eventRows(const Objects& objects);

// What a pod is doing, in the words of `kubectl get pods`: its phase, or the reason of a container.
std::string stateOfPod(const api::Pod& pod);
// When an event happened last.
std::optional<WallTime> timeOf(const api::Event& event);

// The pods of a node's report, in use now: by pod.
struct PodUse {
  Amounts used;
  std::optional<WallTime> reported;
};
using PodUses = std::unordered_map<api::ObjectKey, PodUse>;
PodUses usesOf(const Objects& objects);

}  // namespace koord::cluster
