#pragma once

// Reads one operation of a test; the part of test_file.cc that knows the fields of each kind.

#include <string>
#include <vector>

#include "cluster/scenario/fields.h"
#include "cluster/scenario/test_file.h"

namespace koord::scenario {

// gatheringOnly: catch, finally and cleanup blocks take fewer kinds than try.
Operation readOperation(const json::value& value, const std::string& path, bool gatheringOnly,
                        Problems& problems);
std::vector<Binding> readBindings(Fields& fields, std::string_view key);
std::string readPropagationPolicy(Fields& fields);
// Only JMESPath is there.
void checkCompiler(Fields& fields, std::string_view key = "compiler");

}  // namespace koord::scenario
