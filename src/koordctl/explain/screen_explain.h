#pragma once

// What the screen shows below the details of an object: the text of `koordctl explain`, and for
// nodes without koord-scheduler or koord-manager the zones and devices that the API server knows.

#include "cluster/screen/live/explain.h"

namespace koord::koordctl {

// "" for kinds that cannot be explained.
Task<Result<std::string>> explainOnScreen(cluster::Question question);

}  // namespace koord::koordctl
