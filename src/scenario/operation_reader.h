#pragma once

// Reads one operation of a test; the part of test_file.cc that has the fields of each kind.

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "scenario/test_file.h"

namespace koord::scenario {

// gatheringOnly: catch, finally and cleanup blocks accept fewer kinds than try.
Operation readOperation(Fields fields, bool gatheringOnly);
std::vector<Binding> readBindings(Fields& fields, std::string_view key);
std::string readPropagationPolicy(Fields& fields);
// Only JMESPath is supported.
void checkCompiler(Fields& fields, std::string_view key = "compiler");
// Rejects fields of Chainsaw that are not supported here.
void refuseUnsupported(Fields& fields, std::initializer_list<std::string_view> keys);

// nullopt for a field that is absent or null.
std::optional<bool> optionalBoolean(Fields& fields, std::string_view key);
std::optional<std::string> optionalText(Fields& fields, std::string_view key);
std::optional<Duration> optionalDuration(Fields& fields, std::string_view key);  // 0 or more

}  // namespace koord::scenario
