#pragma once

// JSON <-> structs. The mapping of each struct is described once, in codec_<group>.cc next to this
// file; the functions here are compiled there for every type that has a line "template ...
// decode<T>".
//
// Writing follows Go's omitempty: false, 0, "", empty maps, lists and structs and absent optionals
// are left out. Reading: null and missing fields keep the default. Errors name the field:
//   "spec.containers[0].resources.requests[cpu]: ...".

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace koord::api {

enum class Reading {
  Api,     // objects: names are case-sensitive, unknown fields are ignored
  Strict,  // configuration files: an unknown field is an error
  Go,  // JSON inside annotations and ConfigMaps: names match without case if no exact match exists
};

template <class T>
Result<T> decode(const json::value& document, Reading reading = Reading::Api);

template <class T>
json::value encode(const T& object);

// Text to struct; JSON errors say line and column.
template <class T>
Result<T> decodeText(std::string_view text, Reading reading = Reading::Api) {
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()));
  return decode<T>(*document, reading);
}

// A whole object, with apiVersion and kind in front (T::kType).
template <class T>
json::value encodeObject(const T& object);

}  // namespace koord::api
