#pragma once

// Sets of the fields of an object: what managedFields hold per manager, and what server-side apply
// computes with. A set is a tree of path elements; a node may be in the set, have fields below it,
// or both.
//
// As JSON (FieldsV1) an element is "f:NAME" for a member, "k:{KEYS}" for a list element by its
// keys, "v:VALUE" for a list element by its value and "i:N" for a list element by its index; "."
// says that a node with fields below it is in the set, too.

#include <compare>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace koord::api {

struct PathElement {
  enum class Kind : std::uint8_t { Field, Key, Value, Index };

  Kind kind = Kind::Field;
  std::string text;  // the name; for the others JSON, keys in the order of their names

  auto operator<=>(const PathElement&) const = default;
};

struct FieldNode;

class FieldSet {
 public:
  bool empty() const { return nodes_.empty(); }
  const std::vector<FieldNode>& nodes() const { return nodes_; }
  void reserve(std::size_t count);
  // A set of nodes in any order; nodes of the same element are merged.
  static FieldSet of(std::vector<FieldNode> nodes);
  // The node of this element, inserted if it is missing. It must become a member or get children.
  // Cheap if elements come in order; otherwise use of().
  FieldNode& at(PathElement element);
  const FieldNode* find(const PathElement& element) const;

  bool operator==(const FieldSet&) const;

 private:
  friend FieldSet unite(FieldSet a, const FieldSet& b);
  friend FieldSet subtract(FieldSet a, const FieldSet& b);
  friend FieldSet subtractBelow(FieldSet a, const FieldSet& b);
  friend FieldSet intersect(const FieldSet& a, const FieldSet& b);
  std::vector<FieldNode> nodes_;  // sorted by element; none is empty
};

struct FieldNode {
  PathElement element;
  bool member = false;
  FieldSet children;

  bool operator==(const FieldNode&) const = default;
};

FieldSet unite(FieldSet a, const FieldSet& b);
FieldSet uniteAll(std::vector<FieldSet> sets);
FieldSet subtract(FieldSet a, const FieldSet& b);
// Removes the fields of b and everything below them.
FieldSet subtractBelow(FieldSet a, const FieldSet& b);
FieldSet intersect(const FieldSet& a, const FieldSet& b);

// The set with one field: {"metadata", "name"}.
FieldSet fieldSetOf(std::initializer_list<std::string_view> names);
// ".spec.containers[name=\"web\"].image", one path for each member of the set, in order. Stops when
// the paths are longer than 1 MiB together.
std::vector<std::string> pathsOf(const FieldSet& set);

// FieldsV1. An element is quoted: "f:name".
void appendElement(std::string& out, PathElement::Kind kind, std::string_view text);
void appendText(std::string& out, const FieldSet& set);
Result<FieldSet> parseFieldSet(const json::value& fields);

}  // namespace koord::api
