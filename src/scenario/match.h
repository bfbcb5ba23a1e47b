#pragma once

// Assertion trees, as in Kyverno Chainsaw: a document with the expected values of another document.
//
//   status:
//     phase: Running                       the field has this value; fields that are not named may
//     be there (length(conditions) > `1`): true     an expression on the value here, and what must
//     come out conditions:                          lists: same length, item by item
//     - type: Ready
//     ~.(containerStatuses):               every element of a list (or value of a map)
//       ready: true
//     ~i.conditions->all:                  with its index (or key) as $i; the whole list as $all
//       type: (at($all, $i).type)
//   \(odd)\: x                             a field that is really called "(odd)"
//
// Numbers are compared by amount. A named field must be there; an absent one is not null.

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "scenario/bindings.h"

namespace koord::scenario {

// A place where a value differs from the expected one.
struct Mismatch {
  std::string path;     // "spec.containers[0].image"; "" is the document itself
  std::string message;  // "expected "a", got "b""
};

class AssertionTree {
 public:
  // Parses all expressions; an error names the field.
  static Result<AssertionTree> parse(const json::value& tree);

  // An empty result means that the assertion holds. Fails if an expression cannot be evaluated on
  // this value.
  Result<std::vector<Mismatch>> match(const json::value& actual, const Bindings& bindings) const;
  // The parts of the value that the tree names, in the tree's shape, with the results of its
  // expressions: a report shows it next to the tree.
  json::value view(const json::value& actual, const Bindings& bindings) const;
  // The document of the tree.
  const json::value& document() const { return document_; }

  struct Node;

 private:
  json::value document_;
  std::shared_ptr<const Node> root_;
};

// The document with every text of the form "(expression)" replaced by its value; "@" in them is
// `current`. Keys do not change.
Result<json::value> render(const json::value& document, const Bindings& bindings,
                           const json::value& current = nullptr);
// The same for one text whose result must be a text, such as a name.
Result<std::string> renderText(std::string_view text, const Bindings& bindings);

// Returns true if the text is an expression in parentheses: "(a == b)", "(jp; a)".
bool isExpression(std::string_view text);

}  // namespace koord::scenario
