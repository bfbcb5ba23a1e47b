#pragma once

// Keeps pods of a quota tree on the tree's nodes: a required node affinity for what the selectors of
// its ElasticQuotaProfiles say.

#include <vector>

#include "api/meta.h"
#include "base/json.h"

namespace koord::manager {

// Whatever the pod requires of nodes already, it requires one of the selectors as well: each of its
// terms is made as many as there are selectors. Nothing changes without selectors.
void requireNodes(const std::vector<api::LabelSelector>& selectors, json::value& pod);

}  // namespace koord::manager
