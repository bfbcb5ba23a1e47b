#include "manager/webhook/json_diff.h"

namespace koord::manager {

namespace {

std::string child(const std::string& path, std::string_view key) {
  std::string result = path + '/';
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

void add(json::array& patch, const char* op, const std::string& path, const json::value* value) {
  json::object operation{{"op", op}, {"path", path}};
  if (value) operation["value"] = *value;
  patch.push_back(std::move(operation));
}

void compare(const std::string& path, const json::value& before, const json::value& after,
             json::array& patch) {
  if (before == after) return;
  if (before.is_object() && after.is_object()) {
    const json::object& old = before.get_object();
    for (const auto& member : old)
      if (!after.get_object().contains(member.key()))
        add(patch, "remove", child(path, member.key()), nullptr);
    for (const auto& member : after.get_object()) {
      const std::string place = child(path, member.key());
      if (const json::value* was = old.if_contains(member.key())) {
        compare(place, *was, member.value(), patch);
      } else {
        add(patch, "add", place, &member.value());
      }
    }
    return;
  }
  if (before.is_array() && after.is_array() &&
      before.get_array().size() == after.get_array().size()) {
    for (std::size_t i = 0; i < before.get_array().size(); ++i)
      compare(path + '/' + std::to_string(i), before.get_array()[i], after.get_array()[i], patch);
    return;
  }
  add(patch, "replace", path, &after);
}

}  // namespace

json::array createJsonPatch(const json::value& before, const json::value& after) {
  json::array patch;
  compare("", before, after, patch);
  return patch;
}

}  // namespace koord::manager
