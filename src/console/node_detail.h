#pragma once

// What the page shows of one node beyond its row, read when a browser asks for it.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/task.h"
#include "console/rights/view.h"
#include "kube/api.h"

namespace koord::console {

using AskKoordlet = std::function<Task<std::vector<std::string>>(std::string node)>;

// {"labels", "taints", "cpus", "zones", "devices", "slo", "usage", "koordlet"}. Parts that do not
// exist or may not be read are absent. Errors: Invalid for what cannot be the name of a node;
// others if there is no node or no answer. A viewer with a caller needs the verb get for each
// object, and sees the use of pods that it may list. What koordlet says is for the owner only.
Task<Result<json::value>> nodeDetail(kube::Api& api, std::string name, AskKoordlet koordlet,
                                     std::shared_ptr<const Viewer> viewer);

}  // namespace koord::console
