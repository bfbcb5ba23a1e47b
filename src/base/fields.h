#pragma once

// Fields: strict reading of one object of a configuration file. Every problem is noted with its path
// ("profiles[0].pluginConfig[1].args.weight: ...") and reading goes on, so that all of them are told at once.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/json.h"

namespace koord {

class Fields {
 public:
  // object: may be nullptr (everything takes its default). errors must outlive this.
  Fields(const json::value* object, std::string path, std::vector<std::string>& errors);

  // Whether the field is there with a value that is not null.
  bool has(std::string_view name) const;
  // Whether the field is there, be it null.
  bool names(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t absent, std::int64_t low,
                       std::int64_t high);
  double number(std::string_view name, double absent);
  bool boolean(std::string_view name, bool absent);
  std::string text(std::string_view name, std::string absent = {});
  // A string that has to be there.
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
  // Any value, taken as known; nullptr when absent or null.
  const json::value* raw(std::string_view name);

  // "path.name: message"
  void error(std::string_view name, std::string_view message);
  std::string pathOf(std::string_view name) const;
  const std::string& path() const { return path_; }
  std::vector<std::string>& errors() { return errors_; }

  // Call last: fields that nobody asked for are errors.
  void refuseUnknown();

 private:
  const json::value* take(std::string_view name);

  const json::value* object_;
  std::string path_;
  std::vector<std::string>& errors_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace koord
