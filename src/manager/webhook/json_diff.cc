#include "manager/webhook/json_diff.h"

#include "base/json_equal.h"

namespace koord::manager {

namespace {

void appendKey(std::string& path, std::string_view key) {
  path += '/';
  for (const char c : key) {
    if (c == '~') {
      path += "~0";
    } else if (c == '/') {
      path += "~1";
    } else {
      path += c;
    }
  }
}

// Walks both documents at once. `path_` is that of the values that are compared.
class Diff {
 public:
  json::array patch;

  void compare(const json::value& before, const json::value& after) {
    if (before.is_object() && after.is_object())
      return compareMembers(before.get_object(), after.get_object());
    if (before.is_array() && after.is_array() &&
        before.get_array().size() == after.get_array().size()) {
      for (std::size_t i = 0; i < before.get_array().size(); ++i)
        below(std::to_string(i), [&] { compare(before.get_array()[i], after.get_array()[i]); });
    } else if (!sameJson(before, after)) {
      add("replace", &after);
    }
  }

 private:
  void compareMembers(const json::object& before, const json::object& after) {
    for (const auto& member : before)
      if (!after.contains(member.key())) below(member.key(), [&] { add("remove", nullptr); });
    for (const auto& member : after)
      below(member.key(), [&] {
        if (const json::value* was = before.if_contains(member.key())) {
          compare(*was, member.value());
        } else {
          add("add", &member.value());
        }
      });
  }

  void add(const char* op, const json::value* value) {
    json::object operation{{"op", op}, {"path", path_}};
    if (value) operation["value"] = *value;
    patch.push_back(std::move(operation));
  }

  template <class Fn>
  void below(std::string_view key, Fn fn) {
    const std::size_t length = path_.size();
    appendKey(path_, key);
    fn();
    path_.resize(length);
  }

  std::string path_;
};

}  // namespace

json::array createJsonPatch(const json::value& before, const json::value& after) {
  Diff diff;
  diff.compare(before, after);
  return std::move(diff.patch);
}

}  // namespace koord::manager
