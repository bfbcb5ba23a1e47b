#pragma once

// What the screen shows below the details of an object: the text of `koordctl explain`, and for
// nodes without koord-scheduler or koord-manager the zones and devices that the API server knows.

#include <string>

#include "cluster/screen/live/explain.h"
#include "koordctl/explain/explain_command.h"

namespace koord::koordctl {

// What `koordctl explain` says about an object. The subject of the question is not read.
Task<Result<std::string>> explainAbout(cluster::Question question, ExplainOptions::About about,
                                       std::string name);

// "" for kinds that cannot be explained.
Task<Result<std::string>> explainOnScreen(cluster::Question question);

}  // namespace koord::koordctl
