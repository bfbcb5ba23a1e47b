#include "api/patch/typed_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/patch/typed_walk.h"
#include "base/json_equal.h"
#include "base/utf8.h"

namespace koord::api {
namespace {

using namespace walk;
using Type = Schema::Type;
using Kind = PathElement::Kind;

PathElement fieldElement(std::string_view name) {
  return {Kind::Field, std::string(name)};
}

// JSON; in short for the plain texts and numbers that keys are.
void appendScalar(std::string& out, const json::value& value) {
  const auto* text = value.if_string();
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
  };
  if (text && std::ranges::all_of(*text, plain)) {
    out += '"';
    out += std::string_view(*text);
    out += '"';
  } else if (value.is_int64()) {
    out += std::to_string(value.get_int64());
  } else {
    out += toJson(value);
  }
}

const json::value* implied(const Schema* schema, std::string_view name) {
  return schema && schema->type == Type::Object ? impliedValue(schema->field(name)) : nullptr;
}

void attach(FieldSet& set, PathElement element, bool member, FieldSet children) {
  if (!member && children.empty()) return;
  auto& node = set.at(std::move(element));
  node.member = node.member || member;
  node.children =
      node.children.empty() ? std::move(children) : unite(std::move(node.children), children);
}

class Comparison {
 public:
  // Either side can be null: not there. Which one says whether the node itself came or went.
  static void compare(const json::value* before, const json::value* after, const Schema* schema,
                      const PathElement& element, FieldChanges& out) {
    if (isLeaf(before, after, schema)) {
      if (!before) {
        attach(out.added, element, true, {});
      } else if (!after) {
        attach(out.removed, element, true, {});
      } else if (!sameJson(*before, *after)) {
        attach(out.modified, element, true, {});
      }
      return;
    }
    if (!before) {
      attach(out.added, element, true, everything(*after, schema));
      return;
    }
    FieldChanges below;
    children(before, after, schema, below);
    attach(out.added, element, false, std::move(below.added));
    attach(out.removed, element, !after, std::move(below.removed));
    attach(out.modified, element, false, std::move(below.modified));
  }

  static void children(const json::value* before, const json::value* after, const Schema* schema,
                       FieldChanges& out) {
    const auto* objectBefore = before ? before->if_object() : nullptr;
    const auto* objectAfter = after ? after->if_object() : nullptr;
    const auto* listBefore = before ? before->if_array() : nullptr;
    const auto* listAfter = after ? after->if_array() : nullptr;
    if (objectBefore || objectAfter) members(objectBefore, objectAfter, schema, out);
    if (listBefore || listAfter) elements(listBefore, listAfter, *schema, out);
  }

 private:
  // All fields of something new: the same as compared with nothing, in less time.
  static FieldSet everything(const json::value& value, const Schema* schema) {
    FieldSet out;
    const auto add = [&](PathElement element, const json::value& below, const Schema* type) {
      const bool leaf = isEmpty(&below) || !isContainer(&below) || isAtomic(type, below);
      auto& node = out.at(std::move(element));
      node.member = true;
      if (!leaf) node.children = everything(below, type);
    };
    if (const auto* object = value.if_object()) {
      out.reserve(object->size());
      SchemaCursor types(schema);
      for (const auto* member : sortedMembers(*object))
        add(fieldElement(member->key()), member->value(), types.type(member->key()));
    } else if (const auto* list = value.if_array()) {
      out.reserve(list->size());
      for (const auto& [element, items] : index(list, *schema)) {
        if (items.size() == 1) {
          add(element, *items.front(), schema->items);
        } else {
          out.at(element).member = true;
        }
      }
    }
    return out;
  }

  static bool isLeaf(const json::value* before, const json::value* after, const Schema* schema) {
    if (isEmpty(before) && isEmpty(after)) return true;
    const auto leaf = [&](const json::value* value) {
      return value && !value->is_null() && (!isContainer(value) || isAtomic(schema, *value));
    };
    if (leaf(before) || leaf(after)) return true;
    return before && after && before->kind() != after->kind() && isContainer(before) &&
           isContainer(after);
  }

  static void members(const json::object* before, const json::object* after, const Schema* schema,
                      FieldChanges& out) {
    if (after) {
      out.added.reserve(after->size());
      for (const auto* member : sortedMembers(*after)) {
        const std::string_view name = member->key();
        const auto* old = before ? before->if_contains(name) : nullptr;
        if (!old && before) old = implied(schema, name);
        if (old && sameJson(*old, member->value())) continue;
        compare(old, &member->value(), memberSchema(schema, name), fieldElement(name), out);
      }
    }
    if (!before) return;
    for (const auto* member : sortedMembers(*before)) {
      const std::string_view name = member->key();
      if (after && after->contains(name)) continue;
      compare(&member->value(), after ? implied(schema, name) : nullptr, memberSchema(schema, name),
              fieldElement(name), out);
    }
  }

  // Elements by their place in the set. Duplicates share one entry.
  using Index = std::vector<std::pair<PathElement, std::vector<const json::value*>>>;
  static Index index(const json::array* list, const Schema& schema) {
    Index all;
    if (!list) return all;
    all.reserve(list->size());
    for (const auto& item : *list)
      if (auto element = elementOf(item, schema))
        all.emplace_back(*std::move(element), std::vector<const json::value*>{&item});
    std::ranges::stable_sort(all, {}, &Index::value_type::first);
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (std::ranges::adjacent_find(all, same) == all.end()) return all;
    Index out;
    for (auto& one : all) {
      if (!out.empty() && same(out.back(), one)) {
        out.back().second.push_back(one.second.front());
      } else {
        out.push_back(std::move(one));
      }
    }
    return out;
  }

  static void elements(const json::array* before, const json::array* after, const Schema& schema,
                       FieldChanges& out) {
    const auto old = index(before, schema);
    const auto now = index(after, schema);
    auto at = old.begin();
    for (const auto& [element, items] : now) {
      for (; at != old.end() && at->first < element; ++at) gone(*at, schema, out);
      const bool was = at != old.end() && at->first == element;
      if (items.size() > 1 || (was && at->second.size() > 1)) {
        const auto same = [](const json::value* a, const json::value* b) {
          return sameJson(*a, *b);
        };
        if (!was) {
          attach(out.added, element, true, {});
        } else if (!std::ranges::equal(at->second, items, same)) {
          attach(out.modified, element, true, {});
        }
      } else {
        compare(was ? at->second.front() : nullptr, items.front(), schema.items, element, out);
      }
      if (was) ++at;
    }
    for (; at != old.end(); ++at) gone(*at, schema, out);
  }

  static void gone(const Index::value_type& entry, const Schema& schema, FieldChanges& out) {
    for (const auto* item : entry.second) compare(item, nullptr, schema.items, entry.first, out);
  }
};

FieldSet memberFields(const json::object& object, const Schema* schema) {
  FieldSet out;
  out.reserve(object.size());
  for (const auto* member : sortedMembers(object)) {
    const std::string_view name = member->key();
    const auto& value = member->value();
    const auto* field = schema && schema->type == Type::Object ? schema->field(name) : nullptr;
    const auto* type = memberSchema(schema, name);
    const bool leaf = !isContainer(&value) || isAtomic(type, value);
    // Entries of maps are owned as such, fields of structs through what is in them.
    const bool emptyObject = value.is_object() && value.get_object().empty();
    attach(out, fieldElement(name), leaf || !field || emptyObject,
           leaf ? FieldSet{} : fieldsOf(value, type));
  }
  return out;
}

}  // namespace

const Schema* memberSchema(const Schema* schema, std::string_view name) {
  if (!schema) return nullptr;
  if (const auto* field = schema->field(name)) return field->type;
  return schema->type == Type::Map ? schema->items : nullptr;
}

bool isAtomic(const Schema* schema, const json::value& value) {
  if (value.is_array())
    return !schema || schema->type != Type::List || schema->listKind == Schema::ListKind::Atomic;
  return schema && schema->atomic;
}

Result<PathElement> elementOf(const json::value& item, const Schema& list) {
  if (list.listKind == Schema::ListKind::Set) return PathElement{Kind::Value, toJson(item)};
  if (!item.is_object())
    return fail(ErrorCode::BadRequest,
                "an element must be an object, got " + shortened(toJson(item), 60));
  std::string text = "{";
  const auto add = [&](const std::string& name) {
    const auto* key = item.get_object().if_contains(name);
    if (!key) {
      const auto* type = memberSchema(list.items, name);
      if (type && type->limits && type->limits->default_) key = &*type->limits->default_;
    }
    if (!key) return;
    if (text.size() > 1) text += ',';
    text += '"';
    text += name;
    text += "\":";
    appendScalar(text, *key);
  };
  if (std::ranges::is_sorted(list.listKeys)) {
    std::ranges::for_each(list.listKeys, add);
  } else {
    auto names = list.listKeys;
    std::ranges::sort(names);
    std::ranges::for_each(names, add);
  }
  if (text.size() == 1)
    return fail(ErrorCode::BadRequest,
                fmt::format("an element of a list with keys has none of its keys ({})",
                            fmt::join(list.listKeys, ", ")));
  return PathElement{Kind::Key, text + "}"};
}

FieldSet fieldsOf(const json::value& value, const Schema* schema) {
  if (const auto* object = value.if_object()) return memberFields(*object, schema);
  std::vector<FieldNode> nodes;
  if (const auto* list = value.if_array(); list && schema && schema->type == Type::List)
    for (const auto& item : *list) {
      auto element = elementOf(item, *schema);
      if (!element) continue;
      const bool deep = isContainer(&item) && !isAtomic(schema->items, item);
      nodes.push_back(
          {*std::move(element), true, deep ? fieldsOf(item, schema->items) : FieldSet{}});
    }
  return FieldSet::of(std::move(nodes));
}

FieldChanges compareFields(const json::value& before, const json::value& after,
                           const Schema* schema) {
  FieldChanges out;
  Comparison::children(&before, &after, schema, out);
  return out;
}

FieldSet withStructs(FieldSet set, const Schema* schema) {
  FieldSet out;
  out.reserve(set.nodes().size());
  for (const auto& node : set.nodes()) {
    const bool field = node.element.kind == Kind::Field;
    const auto* below = field    ? memberSchema(schema, node.element.text)
                        : schema ? schema->items
                                 : nullptr;
    const bool named = field && schema && schema->field(node.element.text);
    auto& copy = out.at(node.element);
    copy.member = node.member || named;
    copy.children = withStructs(node.children, below);
  }
  return out;
}

}  // namespace koord::api
