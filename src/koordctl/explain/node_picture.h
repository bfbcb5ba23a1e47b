#pragma once

// A node's sockets, NUMA nodes, cores and CPUs as text of at most 80 columns. A letter per CPU
// shows which pod has it. Never fails, for any document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// /apis/v1/plugins/NodeNUMAResource/nodes/NAME
std::string nodePicture(const json::value& answer);

}  // namespace koord::koordctl
