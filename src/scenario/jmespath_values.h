#pragma once

// Small helpers on JSON values for the JMESPath functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "scenario/jmespath_ast.h"

namespace koord::scenario::jmespath {

bool isNumber(const json::value& value);
double toDouble(const json::value& value);
std::optional<std::int64_t> toInteger(const json::value& value);
// An integer if the number is whole and exact, so that "1" does not become "1.0".
json::value numberOf(double value);
std::string_view textOf(const json::value& value);  // of a string
json::value textValue(std::string_view text);
// "null", "boolean", "number", "string", "array", "object"
std::string_view typeOf(const json::value& value);
// Strings unchanged, other values as JSON.
std::string plainText(const json::value& value);
// <0, 0, >0 for two numbers or two strings; nullopt for other pairs.
std::optional<int> order(const json::value& a, const json::value& b);

// The characters (code points) of UTF-8 text.
std::vector<std::string_view> charactersOf(std::string_view text);

// Arguments with checked types: "join(): argument 2 must be a string, got number".
class Arguments {
 public:
  Arguments(std::string_view function, std::span<const Argument> all)
      : function_(function), all_(all) {}
  std::size_t size() const { return all_.size(); }
  const json::value& operator[](std::size_t i) const { return all_[i].value; }

  Result<std::string_view> text(std::size_t i) const;
  Result<std::int64_t> integer(std::size_t i) const;
  Result<double> number(std::size_t i) const;
  Result<const json::array*> array(std::size_t i) const;
  Result<const json::object*> object(std::size_t i) const;
  Result<const Node*> reference(std::size_t i) const;
  std::unexpected<Error> wrong(std::size_t i, std::string_view expected) const;
  std::unexpected<Error> failure(std::string_view what) const;

 private:
  std::string_view function_;
  std::span<const Argument> all_;
};

}  // namespace koord::scenario::jmespath
