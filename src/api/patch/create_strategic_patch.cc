// The difference of two objects as a strategic merge patch: applied to the first it gives the
// second. Like a JSON merge patch it names what changed and null for what is gone; lists are the
// hard part, since a merge patch can only replace them. Which of them merge, and by which field
// their elements are distinguished (containers by name, ports by port), is what the schema says.
//
//   other lists   replaced as a whole, as are objects that the schema marks `replace`.
//   keyed lists   Both lists are sorted by key and walked side by side. An element of both becomes
//                 its own difference with the key; one of the second only is added; one of the
//                 first only becomes {"$patch": "delete", key}. Changes stand in the order of the
//                 second list.
//   plain values  the same walk over the sorted values; those that are gone are named in
//                 "$deleteFromPrimitiveList/NAME".
//   order         Merging appends, so wherever a list changes "$setElementOrder/NAME" says the
//                 order of all keys or values that there is to be.
//   unions        Objects of which only some fields go together (a volume's source, a strategy's
//                 parameters) list the fields that stay in "$retainKeys".
//
// The reference compares keys as printed text, takes the last of several elements with one key
// first, and states the order of plain values against the sorted original: patches are sent to
// servers and compared by people, so these oddities are kept.
//
// Cost: O(n log n) per list. Rules: strategicpatch.CreateTwoWayMergePatch of apimachinery.

#include "api/patch/create_strategic_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "api/patch/element_order.h"

namespace koord::api {
namespace {

using patch::ElementKey;

std::string printed(const json::value* value) {
  if (!value) return "";
  return value->is_string() ? std::string(value->get_string()) : toJson(*value);
}

struct ListDiff {
  json::array changes;    // elements to add or merge, then deletions of keyed elements
  json::array deletions;  // plain values to take out
  json::array order;      // empty when it need not be stated
};

Result<json::object> diffObjects(const json::object& original, const json::object& modified,
                                 const Schema* schema, bool retainKeys);

Result<> diffKeyed(const json::array& original, const json::array& modified, const Schema* element,
                   const SchemaField& field, ListDiff& out) {
  const ElementKey key{field.mergeKey, true};
  for (const auto* list : {&original, &modified})
    if (auto complete = patch::requireKeys(*list, field.mergeKey); !complete) return complete;
  const auto sorted = [&](const json::array& list) {
    // Of elements with the same key the reference takes the last one first.
    json::array copy(list.rbegin(), list.rend());
    std::ranges::stable_sort(
        copy, {}, [&](const json::value& item) { return printed(find(item, field.mergeKey)); });
    return copy;
  };
  const json::array before = sorted(original);
  const json::array after = sorted(modified);
  json::array deletions;
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    const auto left = i < before.size() ? printed(find(before[i], field.mergeKey)) : "";
    const auto right = j < after.size() ? printed(find(after[j], field.mergeKey)) : "";
    if (i < before.size() && j < after.size() && left == right) {
      auto diff =
          diffObjects(before[i].get_object(), after[j].get_object(), element, field.retainKeys);
      if (!diff) return fail(std::move(diff.error()));
      if (!diff->empty()) {
        (*diff)[field.mergeKey] = *find(after[j], field.mergeKey);
        out.changes.push_back(*std::move(diff));
      }
      ++i;
      ++j;
    } else if (j < after.size() && (i == before.size() || right < left)) {
      out.changes.push_back(after[j++]);
    } else {
      json::object deletion;
      deletion[patch::kDirective] = "delete";
      deletion[field.mergeKey] = *find(before[i++], field.mergeKey);
      deletions.push_back(std::move(deletion));
    }
  }
  auto ordered = patch::sortByOrder(std::move(out.changes), modified, key);
  if (!ordered) return fail(std::move(ordered.error()));
  out.changes = *std::move(ordered);
  for (auto& deletion : deletions) out.changes.push_back(std::move(deletion));
  const bool sameOrder = std::ranges::equal(
      original, modified, [&](const auto& a, const auto& b) { return key.same(a, b); });
  if (out.changes.empty() && sameOrder) return {};
  for (const auto& item : modified) {
    json::object only;
    only[field.mergeKey] = *find(item, field.mergeKey);
    out.order.push_back(std::move(only));
  }
  return {};
}

Result<> diffPlain(const json::array& original, const json::array& modified, ListDiff& out) {
  const auto sorted = [](json::array list) {
    std::ranges::stable_sort(list, {}, [](const json::value& item) { return printed(&item); });
    return list;
  };
  const json::array before = sorted(original);
  const json::array after = sorted(modified);
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    const auto left = i < before.size() ? printed(&before[i]) : "";
    const auto right = j < after.size() ? printed(&after[j]) : "";
    if (i < before.size() && j < after.size() && left == right) {
      ++i;
      ++j;
    } else if (j < after.size() && (i == before.size() || right < left)) {
      out.changes.push_back(after[j++]);
    } else {
      if (std::ranges::find(out.deletions, before[i]) == out.deletions.end())
        out.deletions.push_back(before[i]);
      ++i;
    }
  }
  auto ordered = patch::sortByOrder(std::move(out.changes), modified, {});
  if (!ordered) return fail(std::move(ordered.error()));
  out.changes = *std::move(ordered);
  // As the reference, against the sorted original.
  if (!out.deletions.empty() || before != modified) out.order = modified;
  return {};
}

Result<ListDiff> diffLists(const json::array& original, const json::array& modified,
                           const SchemaField& field) {
  ListDiff out;
  if (original.empty()) {
    out.changes = modified;
    return out;
  }
  const auto& sample = original.front();
  if (sample.is_array()) return fail(ErrorCode::BadRequest, "lists of lists cannot be merged");
  const auto* element = field.type ? field.type->items : nullptr;
  auto done = sample.is_object() ? diffKeyed(original, modified, element, field, out)
                                 : diffPlain(original, modified, out);
  if (!done) return fail(std::move(done.error()));
  return out;
}

Result<> diffMember(json::object& patch, std::string_view name, const json::value& before,
                    const json::value& after, const Schema* schema) {
  const SchemaField* field =
      schema && schema->type == Schema::Type::Object ? schema->field(name) : nullptr;
  const Schema* type = field                                         ? field->type
                       : schema && schema->type == Schema::Type::Map ? schema->items
                                                                     : nullptr;
  if (before.is_object() && after.is_object()) {
    if (field && field->replace) {
      patch[name] = after;
      return {};
    }
    auto inner =
        diffObjects(before.get_object(), after.get_object(), type, field && field->retainKeys);
    if (!inner) return fail(std::move(inner.error()));
    if (!inner->empty()) patch[name] = *std::move(inner);
    return {};
  }
  if (before.is_array() && after.is_array() && field && field->merge) {
    auto diff = diffLists(before.get_array(), after.get_array(), *field);
    if (!diff) return fail(std::move(diff.error()));
    const std::string key(name);
    if (!diff->changes.empty()) patch[key] = std::move(diff->changes);
    if (!diff->deletions.empty())
      patch["$deleteFromPrimitiveList/" + key] = std::move(diff->deletions);
    if (!diff->order.empty()) patch["$setElementOrder/" + key] = std::move(diff->order);
    return {};
  }
  if (before != after) patch[name] = after;
  return {};
}

Result<json::object> diffObjects(const json::object& original, const json::object& modified,
                                 const Schema* schema, bool retainKeys) {
  json::object patch;
  for (const auto& member : modified) {
    const auto* before = original.if_contains(member.key());
    if (!before) {
      patch[member.key()] = member.value();
    } else if (auto done = diffMember(patch, member.key(), *before, member.value(), schema);
               !done) {
      return fail(std::move(done.error()));
    }
  }
  bool deleted = false;
  for (const auto& member : original)
    if (!modified.contains(member.key())) {
      patch[member.key()] = nullptr;
      deleted = deleted || !member.value().is_null();
    }
  if (retainKeys && (!patch.empty() || deleted)) {
    std::vector<std::string> keys;
    for (const auto& member : modified)
      if (!member.value().is_null()) keys.emplace_back(member.key());
    std::ranges::sort(keys);
    if (!keys.empty()) patch["$retainKeys"] = json::array(keys.begin(), keys.end());
  }
  return patch;
}

}  // namespace

Result<json::value> createTwoWayPatch(const json::value& original, const json::value& modified,
                                      const Schema& schema) {
  if (!original.is_object() || !modified.is_object())
    return fail(ErrorCode::BadRequest, "a strategic merge patch can be made of two objects only");
  auto patch = diffObjects(original.get_object(), modified.get_object(), &schema, false);
  if (!patch) return fail(std::move(patch.error()));
  return json::value(*std::move(patch));
}

}  // namespace koord::api
