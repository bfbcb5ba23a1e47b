#include "api/patch/strategic_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "api/patch/element_order.h"
#include "api/patch/merge_patch.h"
#include "base/json_edit.h"

// Lists merge element by element, each looked for among all others: a patch of a few megabytes
// could keep a thread busy for hours. A patch therefore has a budget of comparisons, charged with
// the most that a list may need before it is touched. What strategic patches make is never larger
// than the document and the patch together, so bytes need no budget.

namespace koord::api {
namespace {

using patch::ElementKey;
using patch::hasDirective;
using patch::kDirective;

constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::BadRequest, std::move(message));
}

// Comparisons of list elements that are left to a patch.
class Budget {
 public:
  Result<> compare(std::size_t these, std::size_t those) {
    used_ += these * those;
    if (used_ <= kMaxPatchComparisons) return {};
    return fail(ErrorCode::RequestEntityTooLarge,
                fmt::format("the lists of this strategic merge patch need more than {} comparisons "
                            "of their elements; send fewer elements at a time",
                            kMaxPatchComparisons));
  }
  // What mergeList and orderElements may need.
  Result<> mergeAndOrder(std::size_t original, std::size_t patch, std::size_t order) {
    const std::size_t merged = original + patch;
    if (auto good = compare(merged, patch); !good) return good;
    if (auto good = compare(merged, 2 * order); !good) return good;
    return compare(merged, original);
  }

 private:
  std::size_t used_ = 0;
};

// How one member of an object merges.
struct Rule {
  const Schema* type = nullptr;  // of the member; null when unknown
  bool merge = false;
  bool replace = false;
  std::string_view key;

  static Rule of(const Schema* object, std::string_view name) {
    Rule rule;
    if (!object) return rule;
    if (object->type == Schema::Type::Map) {
      rule.type = object->items;
    } else if (const auto* field = object->field(name)) {
      rule = {field->type, field->merge, field->replace, field->mergeKey};
    }
    return rule;
  }
  const Schema* element() const { return type ? type->items : nullptr; }
};

// Takes out of a value that is new as a whole what a $patch directive marks: there is nothing that
// it could apply to. False when that is all of it. (Other directives stay, as they do in the
// reference; the API server drops them with all other unknown fields.)
bool dropDirectives(json::value& value) {
  if (auto* object = value.if_object()) {
    if (object->contains(kDirective)) return false;
    eraseMembersIf(*object,
                   [](json::key_value_pair& member) { return !dropDirectives(member.value()); });
  } else if (auto* array = value.if_array()) {
    array->erase(std::remove_if(array->begin(), array->end(),
                                [](json::value& item) { return !dropDirectives(item); }),
                 array->end());
  }
  return true;
}

Result<> mergeObject(json::object& original, json::object patch, const Schema* schema,
                     Budget& budget);

Result<> applyRetainKeys(json::object& original, json::object& patch, Budget& budget) {
  const auto it = patch.find(kRetainKeys);
  if (it == patch.end()) return {};
  const auto* listed = it->value().if_array();
  if (!listed) return invalid("$retainKeys must be a list");
  const json::array keep = *listed;
  patch.stable_erase(it);
  if (auto good = budget.compare(keep.size(), original.size() + patch.size()); !good) return good;
  const auto kept = [&](std::string_view name) {
    return std::ranges::any_of(
        keep, [&](const json::value& key) { return key.is_string() && key.get_string() == name; });
  };
  for (const auto& member : patch) {
    const std::string_view name = member.key();
    if (member.value().is_null() || name.starts_with(kDeletePrefix) ||
        name.starts_with(kOrderPrefix))
      continue;
    if (!kept(name))
      return invalid(fmt::format("$retainKeys does not list {}, which the patch sets", name));
  }
  eraseMembersIf(original, [&](const json::key_value_pair& member) { return !kept(member.key()); });
  return {};
}

// Elements with directives: deletions are carried out on `original`, and only plain elements stay
// in `patch`; "replace" puts them in the place of the original.
Result<> applySpecialElements(json::array& original, json::array& patch, std::string_view key) {
  json::array plain;
  bool replace = false;
  for (auto& item : patch) {
    const auto* directive = find(item, kDirective);
    if (!directive) {
      plain.push_back(std::move(item));
    } else if (*directive == "delete") {
      const auto* value = find(item, key);
      if (!value) return patch::requireKeys(json::array{item}, key);
      for (auto it = original.begin(); it != original.end();) {
        const auto* other = find(*it, key);
        it = other && *other == *value ? original.erase(it) : it + 1;
      }
    } else if (*directive == "replace") {
      replace = true;
    } else {
      return invalid(fmt::format("a list element cannot have $patch: {}", toJson(*directive)));
    }
  }
  if (replace) {
    original = std::move(plain);
    patch.clear();
  } else {
    patch = std::move(plain);
  }
  return {};
}

Result<bool> areMaps(const json::array& a, const json::array& b) {
  const json::value* first = nullptr;
  for (const auto* list : {&a, &b}) {
    for (const auto& item : *list) {
      if (item.is_array()) return invalid("lists of lists cannot be merged");
      if (!first) first = &item;
      const bool sameKind =
          first->kind() == item.kind() || (first->is_number() && item.is_number());
      if (!sameKind) return invalid("a list that merges must hold values of one type");
    }
  }
  return first && first->is_object();
}

Result<json::array> mergeList(json::array original, json::array patch, const Rule& rule,
                              bool isDeletion, Budget& budget) {
  if (original.empty() && patch.empty()) return original;
  if (auto good = budget.mergeAndOrder(original.size(), patch.size(), patch.size()); !good)
    return fail(std::move(good.error()));
  const auto maps = areMaps(original, patch);
  if (!maps) return fail(maps.error());
  json::array merged;
  if (!*maps) {
    if (isDeletion) {
      for (auto& item : original)
        if (std::ranges::find(patch, item) == patch.end()) merged.push_back(std::move(item));
      return merged;
    }
    for (const auto* list : {&original, &patch})
      for (const auto& item : *list)
        if (std::ranges::find(merged, item) == merged.end()) merged.push_back(item);
  } else {
    if (rule.key.empty()) return invalid("cannot merge a list of objects without a merge key");
    if (auto done = applySpecialElements(original, patch, rule.key); !done)
      return fail(done.error());
    if (auto complete = patch::requireKeys(patch, rule.key); !complete)
      return fail(complete.error());
    merged = original;
    const ElementKey key{rule.key, true};
    for (const auto& item : patch) {
      const auto at = key.indexIn(merged, item);
      if (at < 0) {
        merged.push_back(item);
      } else {
        auto& target = merged[static_cast<std::size_t>(at)].get_object();
        if (auto done = mergeObject(target, item.get_object(), rule.element(), budget); !done)
          return fail(done.error());
      }
    }
  }
  return patch::orderElements(std::move(merged), patch, original, {rule.key, *maps});
}

// The patch list must come in the order that $setElementOrder states.
Result<> checkOrder(const json::array& patch, const json::array& order, ElementKey key) {
  std::size_t at = 0;
  for (const auto& item : patch) {
    if (key.maps && hasDirective(item, "delete")) continue;
    if (key.maps)
      if (auto complete = patch::requireKeys(json::array{item}, key.key); !complete)
        return complete;
    while (at < order.size() && !key.same(order[at], item)) ++at;
    if (at == order.size()) return invalid("the order of the list does not match $setElementOrder");
    ++at;
  }
  return {};
}

Result<> applyElementOrders(json::object& original, json::object& patch, const Schema* schema,
                            Budget& budget) {
  std::vector<std::string> directives;
  for (const auto& member : patch)
    if (member.key().starts_with(kOrderPrefix)) directives.emplace_back(member.key());
  for (const auto& directive : directives) {
    const auto name = std::string_view(directive).substr(kOrderPrefix.size());
    const json::value given = patch.at(directive);
    patch.stable_erase(patch.find(directive));
    const auto* order = given.if_array();
    if (!order) return invalid(fmt::format("{} must be a list", directive));
    auto* ours = original.if_contains(name);
    auto* theirs = patch.if_contains(name);
    if ((ours && !ours->is_array()) || (theirs && !theirs->is_array()))
      return invalid(fmt::format("{} orders something that is not a list", directive));
    const auto rule = Rule::of(schema, name);
    const json::array before = ours ? ours->get_array() : json::array{};
    const json::array changes = theirs ? theirs->get_array() : json::array{};
    if (auto good = checkOrder(changes, *order, {rule.key, !rule.key.empty()}); !good) return good;
    if (!ours && !theirs) continue;
    if (auto good = budget.mergeAndOrder(before.size(), changes.size(), order->size()); !good)
      return good;
    json::value merged = before;
    if (!ours) {
      merged = changes;
      dropDirectives(merged);
    } else if (theirs) {
      if (rule.merge) {
        auto list = mergeList(before, changes, rule, false, budget);
        if (!list) return fail(list.error());
        merged = *std::move(list);
      } else {
        merged = changes;
      }
    }
    const auto maps = areMaps(before, changes);
    if (!maps) return fail(maps.error());
    auto ordered =
        patch::orderElements(std::move(merged.get_array()), *order, before, {rule.key, *maps});
    if (!ordered) return fail(ordered.error());
    original[name] = *std::move(ordered);
    if (theirs) patch.stable_erase(patch.find(name));
  }
  return {};
}

Result<> mergeMember(json::object& original, std::string_view name, json::value value,
                     bool isDeletion, const Schema* schema, Budget& budget) {
  if (value.is_null()) {
    if (const auto it = original.find(name); it != original.end()) original.stable_erase(it);
    return {};
  }
  auto* current = original.if_contains(name);
  const bool sameKind =
      current && (current->kind() == value.kind() || (current->is_number() && value.is_number()));
  if (!sameKind) {
    if (isDeletion) return {};
    dropNulls(value);
    if (dropDirectives(value)) original[name] = std::move(value);
    return {};
  }
  const auto rule = Rule::of(schema, name);
  if (current->is_object() && !rule.replace)
    return mergeObject(current->get_object(), std::move(value.get_object()), rule.type, budget);
  if (current->is_array() && (rule.merge || isDeletion)) {
    auto merged = mergeList(std::move(current->get_array()), std::move(value.get_array()), rule,
                            isDeletion, budget);
    if (!merged) return fail(merged.error());
    value = *std::move(merged);
  }
  *current = std::move(value);
  return {};
}

Result<> mergeObject(json::object& original, json::object patch, const Schema* schema,
                     Budget& budget) {
  if (const auto it = patch.find(kDirective); it != patch.end()) {
    if (it->value() == "replace") {
      patch.stable_erase(it);
      original = std::move(patch);
      return {};
    }
    if (it->value() == "delete") {
      original.clear();
      return {};
    }
    return invalid(fmt::format("unknown patch type {}", toJson(it->value())));
  }
  if (auto done = applyRetainKeys(original, patch, budget); !done) return done;
  if (auto done = applyElementOrders(original, patch, schema, budget); !done) return done;
  // Deletions together: each by itself would shift all members behind it.
  eraseMembersIf(original, [&](const json::key_value_pair& member) {
    const auto* change = patch.if_contains(member.key());
    return change && change->is_null();
  });
  for (auto& member : patch) {
    std::string_view name = member.key();
    const bool isDeletion = name.starts_with(kDeletePrefix);
    if (isDeletion) name.remove_prefix(kDeletePrefix.size());
    if (auto done =
            mergeMember(original, name, std::move(member.value()), isDeletion, schema, budget);
        !done) {
      done.error().message = fmt::format("{}: {}", name, done.error().message);
      return done;
    }
  }
  return {};
}

}  // namespace

Result<json::value> applyStrategicPatch(const json::value& document, const json::value& patch,
                                        const Schema& schema) {
  if (!document.is_object() || !patch.is_object())
    return fail(ErrorCode::BadRequest,
                "a strategic merge patch and what it patches must be JSON objects");
  json::value out = document;
  Budget budget;
  if (auto merged = mergeObject(out.get_object(), patch.get_object(), &schema, budget); !merged)
    return fail(std::move(merged.error()));
  return out;
}

}  // namespace koord::api
