#pragma once

// What labels, annotations, resources and other names mean, for the reference page
// docs/reference/names.md. Plain data; no program reads it while it runs. scripts/reference.py
// compares it with the names in the sources, in both directions.

#include <span>
#include <string_view>

#include "base/json.h"

namespace koord::model {

struct NameHelp {
  std::string_view name;
  std::string_view
      kind;  // "label", "annotation", "resource", "label or annotation", "provisioner", "finalizer"
  std::string_view on;      // the objects that bear it: "Pod"; for a resource what offers it
  std::string_view writer;  // "user", or the program that sets it
  std::string_view format;  // "text", "integer", "JSON object"
  std::string_view meaning;
  std::string_view example;
  std::string_view absent =
      {};  // what counts without it; empty if that is the absence of the meaning
  std::string_view values = {};  // the values that count, or the range
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
