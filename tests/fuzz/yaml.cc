// Any text is documents or an error, and a document that is written reads back as the same.

#include "base/yaml.h"

#include "fuzz.h"

namespace koord::fuzz {

void yaml(std::string_view input) {
  const auto documents = parseYamlDocuments(input);
  if (!documents) return;
  for (const auto& document : *documents) {
    const std::string text = toYaml(document);
    const auto again = parseYaml(text);
    check(again.has_value(), "written YAML can be read");
    check(toJson(*again) == toJson(document), "written YAML reads as the same value");
  }
}

}  // namespace koord::fuzz
