#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/patch/typed_fields.h"

// Server-side apply, the part that knows values and no owners: put an applied configuration over a
// live object, and take fields out of it again. Who owns what is decided in apiserver/managed.
//
// Merging goes along the schema. Structs and maps merge member by member. A list with keys merges
// element by element; an atomic list or map, and anything without a schema that is not an object,
// is replaced as a whole. An element is named by its keys (FieldSet's path elements), so that it is
// the same element wherever it stands.
//
// The order of a merged list is the delicate part: elements of the applied list keep their order
// among each other, those that only the live list has keep their place relative to the shared ones.
// mergeLists walks the live list; at an element that only it has it copies; at a shared one it
// first takes all of the applied list up to that element. A shared element that comes too early or
// was taken before is passed over. This is the order that structured-merge-diff gives, which
// matters: what is applied twice must not change the object the second time.
//
// Cost: O((m + n) log(m + n)) per list, since names are looked up in a map; lists of a hundred
// thousand elements occur in custom resources. Rules: sigs.k8s.io/structured-merge-diff,
// typed/merge.go and remove.go.

namespace koord::api {
namespace {

using Type = Schema::Type;

// The first element of each name; lists of a hundred thousand elements are possible.
using Elements = std::map<PathElement, const json::value*>;

json::value mergeLists(const json::array& live, const json::array& applied, const Schema& schema) {
  std::vector<PathElement> names;  // of what is applied
  for (const auto& item : applied) names.push_back(elementOf(item, schema).value_or(PathElement{}));
  const std::set<PathElement> wanted(names.begin(), names.end());
  std::vector<std::pair<PathElement, const json::value*>> old;
  for (const auto& item : live)
    old.emplace_back(elementOf(item, schema).value_or(PathElement{}), &item);
  const Elements oldByName(old.begin(), old.end());
  const auto oldOf = [&](const PathElement& name) -> const json::value* {
    const auto it = oldByName.find(name);
    return it == oldByName.end() ? nullptr : it->second;
  };

  json::array out;
  std::size_t next = 0;  // of what is applied
  const auto takeApplied = [&] {
    const auto* before = oldOf(names[next]);
    out.push_back(before ? mergeFields(*before, applied[next], schema.items) : applied[next]);
    ++next;
  };
  std::size_t shared = 0;  // the next one of what is applied that the live list has too
  for (const auto& [name, item] : old) {
    if (!wanted.contains(name)) {
      out.push_back(*item);
      continue;
    }
    // An element of both goes where the order of the applied list wants it.
    shared = std::max(shared, next);
    while (shared < names.size() && !oldOf(names[shared])) ++shared;
    if (shared == names.size() || names[shared] != name) continue;
    while (next <= shared) takeApplied();
  }
  while (next < names.size()) takeApplied();
  return out;
}

json::value removeFromObject(const json::object& object, const FieldSet& fields,
                             const Schema* schema) {
  json::object out;
  for (const auto& member : object) {
    const std::string_view name = member.key();
    const auto* node = fields.find({PathElement::Kind::Field, std::string(name)});
    if (node && node->member) continue;
    if (!node) {
      out.emplace(name, member.value());
      continue;
    }
    auto rest = removeFields(member.value(), node->children, memberSchema(schema, name));
    if (!rest.is_null()) out.emplace(name, std::move(rest));
  }
  return out.empty() ? json::value{} : json::value(std::move(out));
}

json::value removeFromList(const json::array& list, const FieldSet& fields, const Schema& schema) {
  json::array out;
  for (const auto& item : list) {
    const auto element = elementOf(item, schema);
    const auto* node = element ? fields.find(*element) : nullptr;
    if (node && node->member) continue;
    auto rest = node ? removeFields(item, node->children, schema.items) : item;
    if (!rest.is_null()) out.push_back(std::move(rest));
  }
  return out.empty() ? json::value{} : json::value(std::move(out));
}

Result<> checkList(const json::array& list, const Schema& schema) {
  std::set<PathElement> seen;
  for (const auto& item : list) {
    auto element = elementOf(item, schema);
    if (!element) return fail(ErrorCode::BadRequest, ": " + element.error().message);
    if (seen.contains(*element)) {
      FieldSet one;
      one.at(*element).member = true;
      return fail(ErrorCode::BadRequest,
                  fmt::format(": duplicate entries for key {}", pathsOf(one).front()));
    }
    if (auto good = checkApplied(item, schema.items); !good) {
      FieldSet one;
      one.at(*element).member = true;
      return fail(ErrorCode::BadRequest, pathsOf(one).front() + good.error().message);
    }
    seen.insert(*std::move(element));
  }
  return {};
}

}  // namespace

json::value mergeFields(const json::value& live, const json::value& applied, const Schema* schema) {
  if (isAtomic(schema, applied) || live.kind() != applied.kind()) return applied;
  if (const auto* list = applied.if_array()) return mergeLists(live.get_array(), *list, *schema);
  const auto* object = applied.if_object();
  if (!object) return applied;
  json::object out = live.get_object();
  for (const auto& member : *object) {
    auto& slot = out[member.key()];
    slot = mergeFields(slot, member.value(), memberSchema(schema, member.key()));
  }
  return out;
}

json::value removeFields(const json::value& value, const FieldSet& fields, const Schema* schema) {
  if (fields.empty()) return value;
  if (isAtomic(schema, value)) return {};
  if (const auto* object = value.if_object()) return removeFromObject(*object, fields, schema);
  if (const auto* list = value.if_array()) return removeFromList(*list, fields, *schema);
  return value;
}

Result<> checkApplied(const json::value& value, const Schema* schema) {
  if (!schema) return {};
  if (const auto* object = value.if_object()) {
    if (schema->type == Type::Any) return {};
    for (const auto& member : *object) {
      const std::string_view name = member.key();
      const auto* field = schema->field(name);
      const bool implied =
          schema->embedded && (name == "apiVersion" || name == "kind" || name == "metadata");
      if (!field && schema->type == Type::Object && !schema->preserveUnknown && !implied)
        return fail(ErrorCode::BadRequest, fmt::format(".{}: field not declared in schema", name));
      if (auto good = checkApplied(member.value(), memberSchema(schema, name)); !good)
        return fail(ErrorCode::BadRequest, fmt::format(".{}{}", name, good.error().message));
    }
  } else if (const auto* list = value.if_array(); list && schema->type == Type::List) {
    if (!isAtomic(schema, value)) return checkList(*list, *schema);
    for (std::size_t i = 0; i < list->size(); ++i)
      if (auto good = checkApplied((*list)[i], schema->items); !good)
        return fail(ErrorCode::BadRequest, fmt::format("[{}]{}", i, good.error().message));
  }
  return {};
}

}  // namespace koord::api
