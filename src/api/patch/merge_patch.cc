#include "api/patch/merge_patch.h"

#include "base/json_edit.h"

namespace koord::api {
namespace {

void mergeInto(json::object& document, const json::object& patch) {
  // Deletions together: each by itself would shift all members behind it.
  eraseMembersIf(document, [&](const json::key_value_pair& member) {
    const auto* change = patch.if_contains(member.key());
    return change && change->is_null();
  });
  for (const auto& member : patch) {
    if (member.value().is_null()) continue;
    const auto it = document.find(member.key());
    if (it != document.end() && it->value().is_object() && member.value().is_object()) {
      mergeInto(it->value().get_object(), member.value().get_object());
      continue;
    }
    json::value fresh = member.value();
    // As the reference does: a replacement of a plain value is taken unchanged unless it is an
    // object.
    if (it == document.end() || it->value().is_null() || !it->value().is_object()) dropNulls(fresh);
    document[member.key()] = std::move(fresh);
  }
}

json::object difference(const json::object& original, const json::object& modified) {
  json::object patch;
  for (const auto& member : modified) {
    const auto* before = original.if_contains(member.key());
    if (!before) {
      patch[member.key()] = member.value();
    } else if (before->is_object() && member.value().is_object()) {
      auto inner = difference(before->get_object(), member.value().get_object());
      if (!inner.empty()) patch[member.key()] = std::move(inner);
    } else if (*before != member.value()) {
      patch[member.key()] = member.value();
    }
  }
  for (const auto& member : original)
    if (!modified.contains(member.key())) patch[member.key()] = nullptr;
  return patch;
}

// Keeps only the nulls, or only the rest; objects that become empty go, unless they were empty.
json::object filterNulls(const json::object& in, bool keepNulls) {
  json::object out;
  for (const auto& member : in) {
    const auto& value = member.value();
    if (value.is_null()) {
      if (keepNulls) out[member.key()] = nullptr;
    } else if (const auto* object = value.if_object()) {
      auto inner = filterNulls(*object, keepNulls);
      if (!inner.empty() || (object->empty() && !keepNulls)) out[member.key()] = std::move(inner);
    } else if (!keepNulls) {
      out[member.key()] = value;
    }
  }
  return out;
}

// Merges two patches: nulls are kept.
void mergePatches(json::object& into, const json::object& patch) {
  for (const auto& member : patch) {
    auto* current = into.if_contains(member.key());
    if (current && current->is_object() && member.value().is_object()) {
      mergePatches(current->get_object(), member.value().get_object());
    } else {
      into[member.key()] = member.value();
    }
  }
}

}  // namespace

void dropNulls(json::value& value) {
  if (auto* object = value.if_object()) {
    eraseMembersIf(*object, [](json::key_value_pair& member) {
      if (member.value().is_null()) return true;
      dropNulls(member.value());
      return false;
    });
  } else if (auto* array = value.if_array()) {
    for (auto& item : *array) dropNulls(item);
  }
}

Result<json::value> applyMergePatch(const json::value& document, const json::value& patch) {
  if (document.is_null()) return fail(ErrorCode::BadRequest, "cannot patch null");
  if (!patch.is_object() && !patch.is_array())
    return fail(ErrorCode::BadRequest, "a merge patch must be a JSON object");
  if (document.is_object() && patch.is_object()) {
    json::value out = document;
    mergeInto(out.get_object(), patch.get_object());
    return out;
  }
  json::value out = patch;
  dropNulls(out);
  return out;
}

Result<json::value> createMergePatch(const json::value& original, const json::value& modified) {
  if (original.is_object() && modified.is_object())
    return difference(original.get_object(), modified.get_object());
  if (original.is_array() && modified.is_array() &&
      original.get_array().size() == modified.get_array().size()) {
    json::array patches;
    for (std::size_t i = 0; i < original.get_array().size(); ++i) {
      auto patch = createMergePatch(original.get_array()[i], modified.get_array()[i]);
      if (!patch) return patch;
      patches.push_back(*std::move(patch));
    }
    return patches;
  }
  return fail(ErrorCode::BadRequest, "a merge patch can be made of two objects only");
}

Result<json::value> createThreeWayMergePatch(const json::value& original,
                                             const json::value& modified,
                                             const json::value& current) {
  if (!original.is_object() || !modified.is_object() || !current.is_object())
    return fail(ErrorCode::BadRequest, "a merge patch can be made of objects only");
  const auto changes = filterNulls(difference(current.get_object(), modified.get_object()), false);
  auto patch = filterNulls(difference(original.get_object(), modified.get_object()), true);
  mergePatches(patch, changes);
  return patch;
}

}  // namespace koord::api
