#pragma once

// A small reader of protobuf's text format, as far as the files of cel-spec use it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::celtest {

// A message, or a scalar: then `fields` is empty and `text` is the scalar, strings decoded.
struct Proto {
  std::string text;
  bool isMessage = false;
  std::vector<std::pair<std::string, Proto>> fields;

  // nullptr if there is no such field.
  const Proto* find(std::string_view name) const;
  std::vector<const Proto*> all(std::string_view name) const;
  // The scalar of a field; "" if there is none.
  std::string_view textOf(std::string_view name) const;
};

Result<Proto> parseTextProto(std::string_view text);

// True if a scalar in the message, or the name of a field, contains the text.
bool mentions(const Proto& proto, std::string_view text);

}  // namespace koord::celtest
