#pragma once

// YAML text as JSON documents, typed as Kubernetes tools read it: plain scalars become null,
// booleans (yes/no/on/off too), integers (decimal, 0x, 0o, 0b, leading 0), floats or text; quoted
// scalars stay text. Whole floats become integers ("1e3" is 1000), "<<" merges. Map keys are text;
// a plain key that is a boolean or an integer takes its usual form ("yes: 1" has the key "true",
// "0x10: 1" "16"). Tries text that begins with "{" as JSON first.
//
// Invalid input is BadRequest with its place: "line 3 column 14: ...". A repeated key is an error.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord {

// Limits against hostile input.
constexpr std::size_t kMaxYamlDepth = 256;
constexpr std::size_t kMaxYamlNodes = 5'000'000;  // after aliases are copied
// The memory for what anchors keep and aliases copy, in bytes of text and kYamlNodeBytes for each
// value. Without it, a few lines can use any amount of memory: many references to a long text,
// lists of aliases of lists of aliases, anchors inside anchors.
constexpr std::size_t kMaxYamlCopyBytes = 32 << 20;
constexpr std::size_t kYamlNodeBytes = 32;

// The only document of the text; null if it has none, an error if it has several.
Result<json::value> parseYaml(std::string_view text);
// All documents separated by "---"; skips those without content.
Result<std::vector<json::value>> parseYamlDocuments(std::string_view text);

// Block style for users; parseYaml returns the same value.
std::string toYaml(const json::value& value);

}  // namespace koord
