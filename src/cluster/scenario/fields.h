#pragma once

// Strict reading of a JSON object: each field is taken once, and what is left in the end is an
// error. Problems are collected with the path of the field, so that a file's mistakes come out
// together.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"

namespace koord::scenario {

class Problems {
 public:
  void add(const std::string& path, std::string_view what) {
    all_.push_back({path, std::string(what)});
  }
  bool empty() const { return all_.empty(); }
  // All of them, one per line, each after what `place` says of its path ("chainsaw-test.yaml:3").
  std::string text(const std::function<std::string(const std::string& path)>& place) const;

 private:
  struct Problem {
    std::string path;
    std::string what;
  };
  std::vector<Problem> all_;
};

class Fields {
 public:
  // Null stands for an object without fields.
  Fields(const json::value& value, std::string path, Problems& problems);

  // Each answers nothing (or its default) for a field that is absent or null; a wrong type is a
  // problem.
  const json::value* take(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key);
  std::optional<Duration> duration(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  // The items of a list, as (value, path).
  std::vector<std::pair<const json::value*, std::string>> items(std::string_view key);

  // A text that must be there.
  std::string required(std::string_view key);
  // Says that a field exists in Chainsaw and is not supported here.
  void unsupported(std::initializer_list<std::string_view> keys);
  bool has(std::string_view key) const;
  // Complains about every field that nobody took. The last call.
  void finish();

  std::string pathOf(std::string_view key) const;
  Problems& problems() { return problems_; }

 private:
  void wrongType(std::string_view key, std::string_view expected);

  const json::object* object_;
  std::string path_;
  Problems& problems_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace koord::scenario
