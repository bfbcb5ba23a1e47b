#pragma once

// What the page shows of one node beyond its row, read when a browser asks for it.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/task.h"
#include "kube/api.h"

namespace koord::console {

using AskKoordlet = std::function<Task<std::vector<std::string>>(std::string node)>;

// {"labels", "taints", "cpus", "zones", "devices", "slo", "usage", "koordlet"}. Parts that do not
// exist or may not be read are absent. Fails only if there is no node or no answer.
Task<Result<json::value>> nodeDetail(kube::Api& api, std::string name, AskKoordlet koordlet);

}  // namespace koord::console
