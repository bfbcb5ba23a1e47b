#pragma once

// What the console shows of an object: the text of `koordctl explain`.

#include <string>

#include "cluster/screen/live/explain.h"

namespace koord::koordctl {

// `kind`: pod, node, quota, gang or reservation; `name` with its namespace for pods and gangs. The
// subject of the question is not read. Invalid for other kinds and for names that cannot be those
// of an object.
Task<Result<std::string>> explainForConsole(cluster::Question question, std::string kind,
                                            std::string name);

}  // namespace koord::koordctl
