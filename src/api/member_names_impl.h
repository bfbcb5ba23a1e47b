#pragma once

#include "api/codec_impl.h"
#include "api/member_names.h"

namespace koord::api {

template <class T>
std::vector<std::string_view> memberNames() {
  std::vector<std::string_view> names;
  for (const auto& field : codec::fieldsOf<T>()) names.push_back(field.name);
  return names;
}

}  // namespace koord::api

#define KOORD_MEMBER_NAMES(T) template std::vector<std::string_view> koord::api::memberNames<T>();
