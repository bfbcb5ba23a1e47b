#pragma once

// Fields: strict reading of one object of a configuration file. Collects every problem with its
// path ("profiles[0].pluginConfig[1].args.weight: ...") and continues to read, so that the user
// sees all problems at once.
//
// A reader that runs on a FieldLog instead of a document describes the fields that it reads: their
// names, types, defaults and ranges. The reference pages are generated in this way, so they agree
// with the code.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/json.h"

namespace koord {

// A field as its reader requests it. A member of a list has the path "list[].member", a member of a
// map with free keys "map.*.member".
struct FieldNote {
  std::string path;
  std::string type;    // "integer", "number", "boolean", "string", "duration", "object", ...
  std::string absent;  // the value if the field is not given; "" = none
  std::optional<std::int64_t> low;  // the range of an integer, both ends included
  std::optional<std::int64_t> high;
};

// The fields that a reader requested, in its order, each path once. A field that is read in two
// ways has the more specific type.
class FieldLog {
 public:
  void add(FieldNote note);
  const std::vector<FieldNote>& notes() const { return notes_; }

 private:
  std::vector<FieldNote> notes_;
};

class Fields {
 public:
  // object: may be nullptr (everything takes its default). errors must outlive this.
  Fields(const json::value* object, std::string path, std::vector<std::string>& errors);
  // Records what a reader requests. Every field counts as given, lists and maps have one entry,
  // values are the defaults. Errors are collected as usual; ignore them. log and errors must
  // outlive this.
  Fields(FieldLog& log, std::string path, std::vector<std::string>& errors);

  // True if the field is given with a value that is not null.
  bool has(std::string_view name) const;
  // True if the field is given, even with null.
  bool names(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t absent, std::int64_t low,
                       std::int64_t high);
  double number(std::string_view name, double absent);
  bool boolean(std::string_view name, bool absent);
  std::string text(std::string_view name, std::string absent = {});
  // A required string.
  std::string required(std::string_view name);
  Duration duration(std::string_view name, Duration absent);
  std::vector<std::string> texts(std::string_view name);
  // An object of whole numbers, such as {"cpu": 65}.
  std::map<std::string, std::int64_t, std::less<>> integers(std::string_view name, std::int64_t low,
                                                            std::int64_t high);
  // An object of numbers, such as {"cpu": 65.5}.
  std::map<std::string, double, std::less<>> numbers(std::string_view name);
  // An object of strings, such as {"app": "web"}.
  std::map<std::string, std::string, std::less<>> textsByName(std::string_view name);
  Fields object(std::string_view name);
  std::vector<Fields> list(std::string_view name);
  // An object of objects, by name.
  std::vector<std::pair<std::string, Fields>> objects(std::string_view name);
  // Any value, marked as known; nullptr if it is absent or null.
  const json::value* raw(std::string_view name);

  // "path.name: message"
  void error(std::string_view name, std::string_view message);
  std::string pathOf(std::string_view name) const;
  const std::string& path() const { return path_; }
  std::vector<std::string>& errors() { return errors_; }

  // Reports every field that was not read as an error. Call it after all reads.
  void refuseUnknown();

 private:
  const json::value* take(std::string_view name);
  void note(std::string_view name, std::string_view type, std::string absent = {});

  const json::value* object_;
  std::string path_;
  std::vector<std::string>& errors_;
  FieldLog* log_ = nullptr;
  std::set<std::string, std::less<>> known_;
};

}  // namespace koord
