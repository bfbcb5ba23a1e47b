#pragma once

// Descriptions of labels, annotations, resources and other names, for the reference page
// docs/reference/names.md. Plain data that programs do not read at run time. scripts/reference.py
// compares it with the names in the sources, in both directions.

#include <span>
#include <string_view>

#include "base/json.h"

namespace koord::model {

struct NameHelp {
  std::string_view name;
  std::string_view
      kind;  // "label", "annotation", "resource", "label or annotation", "provisioner", "finalizer"
  // The objects that have it: "Pod"; for a resource, the object that offers it.
  std::string_view on;
  std::string_view writer;  // "user", or the program that sets it
  std::string_view format;  // "text", "integer", "JSON object"
  std::string_view meaning;
  std::string_view example;
  std::string_view absent =
      {};  // the behaviour if it is absent; empty if absence is the normal case
  std::string_view values = {};  // the valid values, or the range
  std::string_view unit = {};
};

struct NameGroup {
  std::string_view title;  // a section of the page
  std::span<const NameHelp> names;
};

// All groups, in the order of the page.
std::span<const NameGroup> nameGroups();

// [{"title", "names": [{"name", "kind", "on", "writer", "format", "meaning", "example", "absent",
// "values", "unit"}]}]
json::array describeNames();

}  // namespace koord::model
