#include <algorithm>

#include "scenario/jmespath.h"
#include "scenario/jmespath_values.h"

// Functions on arrays and objects.

namespace koord::scenario::jmespath {
namespace {

using Args = std::span<const Argument>;

Result<json::value> at(Args all, const Scope&) {
  const Arguments arguments("at", all);
  const auto array = arguments.array(0);
  if (!array) return fail(array.error());
  auto index = arguments.integer(1);
  if (!index) return fail(index.error());
  const auto size = static_cast<std::int64_t>((*array)->size());
  if (*index < 0) *index += size;
  if (*index < 0 || *index >= size) return arguments.failure("the index is out of range");
  return (**array)[static_cast<std::size_t>(*index)];
}

Result<json::value> contains(Args all, const Scope&) {
  const Arguments arguments("contains", all);
  if (const auto* array = arguments[0].if_array()) {
    return json::value(std::any_of(array->begin(), array->end(),
                                   [&](const auto& item) { return equal(item, arguments[1]); }));
  }
  if (!arguments[0].is_string()) return arguments.wrong(0, "a string or an array");
  if (!arguments[1].is_string()) return json::value(false);
  return json::value(textOf(arguments[0]).find(textOf(arguments[1])) != std::string_view::npos);
}

Result<json::value> keys(Args all, const Scope&) {
  const auto object = Arguments("keys", all).object(0);
  if (!object) return fail(object.error());
  json::array result;
  for (const auto& member : **object) result.push_back(textValue(member.key()));
  return json::value(std::move(result));
}

Result<json::value> values(Args all, const Scope&) {
  const auto object = Arguments("values", all).object(0);
  if (!object) return fail(object.error());
  json::array result;
  for (const auto& member : **object) result.push_back(member.value());
  return json::value(std::move(result));
}

// [[key, value], ...]; Kyverno's form with three arguments gives the names of the two members of
// each item.
Result<json::value> items(Args all, const Scope&) {
  const Arguments arguments("items", all);
  if (arguments.size() == 2) return arguments.failure("takes one or three arguments");
  const bool named = arguments.size() == 3;
  if (named && (!arguments[1].is_string() || !arguments[2].is_string())) {
    return arguments.wrong(arguments[1].is_string() ? 2 : 1, "a string");
  }
  json::array result;
  const auto add = [&](json::value key, const json::value& value) {
    if (named) {
      result.push_back(json::object{{textOf(arguments[1]), key}, {textOf(arguments[2]), value}});
    } else {
      result.push_back(json::array{key, value});
    }
  };
  if (const auto* array = arguments[0].if_array(); array && named) {
    for (std::size_t i = 0; i < array->size(); ++i) add(static_cast<std::int64_t>(i), (*array)[i]);
    return json::value(std::move(result));
  }
  const auto object = arguments.object(0);
  if (!object) return fail(object.error());
  for (const auto& member : **object) add(textValue(member.key()), member.value());
  return json::value(std::move(result));
}

Result<json::value> fromItems(Args all, const Scope&) {
  const Arguments arguments("from_items", all);
  const auto array = arguments.array(0);
  if (!array) return fail(array.error());
  json::object result;
  for (const auto& item : **array) {
    const auto* pair = item.if_array();
    if (!pair || pair->size() != 2 || !(*pair)[0].is_string()) {
      return arguments.wrong(0, "an array of [string, value] pairs");
    }
    result[textOf((*pair)[0])] = (*pair)[1];
  }
  return json::value(std::move(result));
}

Result<json::value> objectFromLists(Args all, const Scope&) {
  const Arguments arguments("object_from_lists", all);
  const auto names = arguments.array(0);
  if (!names) return fail(names.error());
  const auto contents = arguments.array(1);
  if (!contents) return fail(contents.error());
  json::object result;
  for (std::size_t i = 0; i < (*names)->size(); ++i) {
    result[plainText((**names)[i])] =
        i < (*contents)->size() ? (**contents)[i] : json::value(nullptr);
  }
  return json::value(std::move(result));
}

Result<json::value> length(Args all, const Scope&) {
  const Arguments arguments("length", all);
  std::size_t count = 0;
  if (arguments[0].is_string()) {
    count = charactersOf(textOf(arguments[0])).size();
  } else if (const auto* array = arguments[0].if_array()) {
    count = array->size();
  } else if (const auto* object = arguments[0].if_object()) {
    count = object->size();
  } else {
    return arguments.wrong(0, "a string, an array or an object");
  }
  return json::value(static_cast<std::int64_t>(count));
}

Result<json::value> lookup(Args all, const Scope&) {
  const Arguments arguments("lookup", all);
  if (const auto* object = arguments[0].if_object()) {
    const auto key = arguments.text(1);
    if (!key) return fail(key.error());
    const auto* value = object->if_contains(*key);
    return value ? *value : json::value(nullptr);
  }
  const auto array = arguments.array(0);
  if (!array) return arguments.wrong(0, "an array or an object");
  const auto index = arguments.integer(1);
  if (!index) return fail(index.error());
  if (*index < 0 || *index >= static_cast<std::int64_t>((*array)->size()))
    return json::value(nullptr);
  return (**array)[static_cast<std::size_t>(*index)];
}

Result<json::value> map(Args all, const Scope& scope) {
  const Arguments arguments("map", all);
  const auto body = arguments.reference(0);
  if (!body) return fail(body.error());
  const auto array = arguments.array(1);
  if (!array) return fail(array.error());
  json::array result;
  for (const auto& item : **array) {
    auto value = evaluate(**body, item, scope);
    if (!value) return value;
    result.push_back(*std::move(value));
  }
  return json::value(std::move(result));
}

Result<json::value> merge(Args all, const Scope&) {
  const Arguments arguments("merge", all);
  json::object result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto object = arguments.object(i);
    if (!object) return fail(object.error());
    for (const auto& member : **object) result[member.key()] = member.value();
  }
  return json::value(std::move(result));
}

struct Keyed {
  json::value key;
  json::value item;
};

// The elements with their sort keys, which must be all numbers or all strings.
Result<std::vector<Keyed>> keyed(const Arguments& arguments, const Scope& scope) {
  const auto array = arguments.array(0);
  if (!array) return fail(array.error());
  const Node* body = nullptr;
  if (arguments.size() > 1) {
    const auto reference = arguments.reference(1);
    if (!reference) return fail(reference.error());
    body = *reference;
  }
  std::vector<Keyed> result;
  for (const auto& item : **array) {
    auto key = body ? evaluate(*body, item, scope) : Result<json::value>(item);
    if (!key) return fail(std::move(key.error()));
    result.push_back({*std::move(key), item});
  }
  for (const auto& entry : result) {
    if (!order(entry.key, result.front().key)) {
      return arguments.failure("the values to compare must be all numbers or all strings");
    }
  }
  return result;
}

bool less(const Keyed& a, const Keyed& b) {
  return *order(a.key, b.key) < 0;
}

Result<json::value> sorted(const Arguments& arguments, const Scope& scope) {
  auto entries = keyed(arguments, scope);
  if (!entries) return fail(std::move(entries.error()));
  std::stable_sort(entries->begin(), entries->end(), less);
  json::array result;
  for (auto& entry : *entries) result.push_back(std::move(entry.item));
  return json::value(std::move(result));
}

Result<json::value> extreme(const Arguments& arguments, const Scope& scope, bool greatest) {
  auto entries = keyed(arguments, scope);
  if (!entries) return fail(std::move(entries.error()));
  if (entries->empty()) return json::value(nullptr);
  const auto it = greatest ? std::max_element(entries->begin(), entries->end(), less)
                           : std::min_element(entries->begin(), entries->end(), less);
  return std::move(it->item);
}

Result<json::value> sort(Args all, const Scope& s) {
  return sorted(Arguments("sort", all), s);
}
Result<json::value> sortBy(Args all, const Scope& s) {
  return sorted(Arguments("sort_by", all), s);
}
Result<json::value> max(Args all, const Scope& s) {
  return extreme(Arguments("max", all), s, true);
}
Result<json::value> maxBy(Args all, const Scope& s) {
  return extreme(Arguments("max_by", all), s, true);
}
Result<json::value> min(Args all, const Scope& s) {
  return extreme(Arguments("min", all), s, false);
}
Result<json::value> minBy(Args all, const Scope& s) {
  return extreme(Arguments("min_by", all), s, false);
}

Result<json::value> groupBy(Args all, const Scope& scope) {
  const Arguments arguments("group_by", all);
  const auto array = arguments.array(0);
  if (!array) return fail(array.error());
  const auto body = arguments.reference(1);
  if (!body) return fail(body.error());
  json::object result;
  for (const auto& item : **array) {
    const auto key = evaluate(**body, item, scope);
    if (!key) return key;
    if (key->is_null()) continue;
    if (!key->is_string()) return arguments.failure("the group key must be a string");
    auto& group = result[textOf(*key)];
    if (group.is_null()) group = json::array();
    group.get_array().push_back(item);
  }
  return json::value(std::move(result));
}

Result<json::value> notNull(Args all, const Scope&) {
  for (const auto& argument : all) {
    if (!argument.value.is_null()) return argument.value;
  }
  return json::value(nullptr);
}

Result<json::value> reverse(Args all, const Scope&) {
  const Arguments arguments("reverse", all);
  if (const auto* array = arguments[0].if_array()) {
    return json::value(json::array(std::make_reverse_iterator(array->end()),
                                   std::make_reverse_iterator(array->begin())));
  }
  if (!arguments[0].is_string()) return arguments.wrong(0, "a string or an array");
  auto characters = charactersOf(textOf(arguments[0]));
  std::string result;
  for (auto it = characters.rbegin(); it != characters.rend(); ++it) result += *it;
  return textValue(result);
}

Result<json::value> toArray(Args all, const Scope&) {
  if (all[0].value.is_array()) return all[0].value;
  return json::value(json::array{all[0].value});
}

Result<json::value> zip(Args all, const Scope&) {
  const Arguments arguments("zip", all);
  std::size_t shortest = kAnyNumber;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto array = arguments.array(i);
    if (!array) return fail(array.error());
    shortest = std::min(shortest, (*array)->size());
  }
  json::array result;
  for (std::size_t row = 0; row < shortest; ++row) {
    json::array tuple;
    for (const auto& argument : all) tuple.push_back(argument.value.get_array()[row]);
    result.push_back(std::move(tuple));
  }
  return json::value(std::move(result));
}

constexpr FunctionEntry kCollectionsFunctions[] = {
    {"at", 2, 2, at},
    {"contains", 2, 2, contains},
    {"from_items", 1, 1, fromItems},
    {"group_by", 2, 2, groupBy},
    {"items", 1, 3, items},
    {"keys", 1, 1, keys},
    {"length", 1, 1, length},
    {"lookup", 2, 2, lookup},
    {"map", 2, 2, map},
    {"max", 1, 1, max},
    {"max_by", 2, 2, maxBy},
    {"merge", 0, kAnyNumber, merge},
    {"min", 1, 1, min},
    {"min_by", 2, 2, minBy},
    {"not_null", 1, kAnyNumber, notNull},
    {"object_from_lists", 2, 2, objectFromLists},
    {"reverse", 1, 1, reverse},
    {"sort", 1, 1, sort},
    {"sort_by", 2, 2, sortBy},
    {"to_array", 1, 1, toArray},
    {"values", 1, 1, values},
    {"zip", 1, kAnyNumber, zip},
};

}  // namespace

std::span<const FunctionEntry> collectionFunctions() {
  return kCollectionsFunctions;
}

}  // namespace koord::scenario::jmespath
