#pragma once

// A node's sockets, NUMA nodes, cores and CPUs as text of at most 80 columns, each CPU with a letter that
// says who holds it; nothing of it fails, whatever the document is.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// /apis/v1/plugins/NodeNUMAResource/nodes/NAME
std::string nodePicture(const json::value& answer);

}  // namespace koord::koordctl
