#pragma once

// YAML text as JSON documents, typed as Kubernetes tools read it: plain scalars become null,
// booleans (yes/no/on/off too), integers (decimal, 0x, 0o, 0b, leading 0), floats or text; quoted
// ones stay text. Whole floats become integers ("1e3" is 1000), "<<" merges. Map keys are text;
// plain ones of a boolean or an integer are its usual form ("yes: 1" has the key "true", "0x10: 1"
// "16"). Text that begins with "{" is tried as JSON first.
//
// Bad input is BadRequest with its place: "line 3 column 14: ...". A key that repeats is an error.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord {

// Limits that keep hostile input harmless.
constexpr std::size_t kMaxYamlDepth = 256;
constexpr std::size_t kMaxYamlNodes = 5'000'000;  // after aliases are copied
// What anchors keep and aliases copy, in bytes of text and kYamlNodeBytes for each value. A few
// lines can otherwise ask for any amount of memory: a long text that is referred to many times,
// lists of aliases of lists of aliases, anchors inside of anchors.
constexpr std::size_t kMaxYamlCopyBytes = 32 << 20;
constexpr std::size_t kYamlNodeBytes = 32;

// The one document of the text; null when it has none, an error when it has several.
Result<json::value> parseYaml(std::string_view text);
// All documents separated by "---"; those without content are left out.
Result<std::vector<json::value>> parseYamlDocuments(std::string_view text);

// Block style for people; parseYaml gives the same value back.
std::string toYaml(const json::value& value);

}  // namespace koord
