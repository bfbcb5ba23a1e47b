#pragma once

// Restricts pods of a quota tree to the tree's nodes: adds a required node affinity with the
// selectors of its ElasticQuotaProfiles.

#include <vector>

#include "api/meta.h"
#include "base/json.h"

namespace koord::manager {

// In addition to its own required terms, the pod requires one of the selectors: each term is
// combined with each selector. Without selectors nothing changes.
void requireNodes(const std::vector<api::LabelSelector>& selectors, json::value& pod);

}  // namespace koord::manager
