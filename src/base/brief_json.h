#pragma once

// A JSON document that is read and then dropped. Its values lie one after the other in a block of
// memory and are not destroyed one by one, so it costs half of what parseJson() costs.
//
//   if (const BriefJson document(text); document) read(*document);
//
// Copies of its values have their own memory. The object is large: keep it on the stack, and not in
// a coroutine.

#include <array>
#include <boost/json/monotonic_resource.hpp>

#include "base/json.h"

namespace koord {

class BriefJson {
 public:
  // Errors as of parseJson().
  explicit BriefJson(std::string_view text);
  BriefJson(const BriefJson&) = delete;
  BriefJson& operator=(const BriefJson&) = delete;

  explicit operator bool() const { return value_.has_value(); }
  const json::value& operator*() const { return *value_; }
  const json::value* operator->() const { return &*value_; }
  const Error& error() const { return value_.error(); }

 private:
  std::array<unsigned char, 16 << 10> room_;
  json::monotonic_resource memory_;
  const Result<json::value> value_;
};

}  // namespace koord
