#include <algorithm>

#include "api/patch/typed_fields.h"
#include "api/patch/typed_walk.h"

namespace koord::api {
namespace {

using namespace walk;
using Kind = PathElement::Kind;

class NewFields {
 public:
  std::string text = "{";

  // `given`: the object is new as a whole; else its struct was there before, empty.
  void members(const json::object& object, const Schema* schema, bool given,
               const FieldSet* without) {
    SchemaCursor types(schema);
    for (const auto* member : sortedMembers(object)) {
      const std::string_view name = member->key();
      const auto* left = without ? findOmitted(*without, name) : nullptr;
      if (left && left->children.empty()) continue;
      const auto& value = member->value();
      const auto* known = types.field(name);
      const auto* before = given ? nullptr : impliedValue(known);
      if (before && *before == value) continue;
      const auto start = begin();
      if (known) {  // needs no escapes
        text += "\"f:";
        text += name;
        text += '"';
      } else {
        appendElement(text, Kind::Field, name);
      }
      below(start, value, types.type(known), before != nullptr, left);
    }
  }

 private:
  static const FieldNode* findOmitted(const FieldSet& set, std::string_view name) {
    for (const auto& node : set.nodes())
      if (node.element.kind == Kind::Field && node.element.text == name) return &node;
    return nullptr;
  }

  // Where an element starts, before its comma.
  std::size_t begin() {
    const auto start = text.size();
    if (text.back() != '{') text += ',';
    return start;
  }

  // What follows an element's name; takes all of it back when there is nothing to own. `implied`:
  // it was there before, so that only what is below it counts.
  void below(std::size_t start, const json::value& value, const Schema* type, bool implied,
             const FieldNode* left) {
    const bool leaf = isEmpty(&value) || !isContainer(&value) || isAtomic(type, value);
    const bool member = (leaf || !implied) && !(left && left->member);
    text += ":{";
    const auto inside = text.size();
    if (!leaf) {
      if (member) text += "\".\":{}";
      const auto bare = text.size();
      if (const auto* object = value.if_object()) {
        members(*object, type, !implied, left ? &left->children : nullptr);
      } else {
        elements(value.get_array(), *type);
      }
      if (text.size() == bare) text.resize(inside);
    }
    if (!member && text.size() == inside) {
      text.resize(start);
    } else {
      text += '}';
    }
  }

  void elements(const json::array& list, const Schema& schema) {
    boost::container::small_vector<std::pair<PathElement, const json::value*>, 4> items;
    for (const auto& item : list)
      if (auto element = elementOf(item, schema)) items.emplace_back(*std::move(element), &item);
    std::ranges::sort(items, {}, [](const auto& item) -> const auto& { return item.first; });
    for (std::size_t i = 0; i < items.size();) {
      const auto& [element, item] = items[i];
      std::size_t next = i + 1;
      while (next < items.size() && items[next].first == element) ++next;
      // Of an element that is there several times only that is known.
      static const json::value nothing;
      const bool once = next == i + 1;
      const auto start = begin();
      appendElement(text, element.kind, element.text);
      below(start, once ? *item : nothing, schema.items, false, nullptr);
      i = next;
    }
  }
};

}  // namespace

std::string newFieldsText(const json::value& object, const Schema* schema,
                          const FieldSet& without) {
  NewFields out;
  out.text.reserve(1024);
  if (const auto* members = object.if_object()) out.members(*members, schema, false, &without);
  return std::move(out.text) + "}";
}

}  // namespace koord::api
