#pragma once

// Descriptions of the fields of a configuration object, for the reference pages. The reader of the
// object gives names, types and ranges (FieldLog); a table of FieldHelp adds the rest. Tests fail
// for a field without an entry and for an entry without a field.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace koord {

struct FieldHelp {
  std::string_view path;  // as in FieldNote
  std::string_view help;  // one or two sentences
  std::string_view unit = {};
  std::string_view example = {};  // YAML of the value, on one line
  std::string_view absent = {};   // the default, where the reader does not name it
  std::string_view type = {};     // likewise
  std::string_view range = {};    // likewise, where two numbers do not say it
};

// One configuration object, such as the arguments of a plugin.
struct ObjectHelp {
  std::string name;     // "LoadAwareScheduling"
  std::string kind;     // "LoadAwareSchedulingArgs"; "" = none
  std::string version;  // the apiVersion of the kind
  std::vector<FieldNote> fields;
  std::span<const FieldHelp> help;
};

// Fields without help and help without fields, as "name.path: what is missing".
std::vector<std::string> missingHelp(const ObjectHelp& object);

// {"name", "kind", "version", "fields": [{"path", "type", "default", "range", "low", "high",
// "unit", "help", "example"}]}
json::value toDocument(const ObjectHelp& object);

}  // namespace koord
