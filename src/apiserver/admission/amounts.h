#pragma once

// Resource amounts inside JSON objects ({"cpu": "500m"}).

#include "api/meta.h"
#include "base/json.h"
#include "base/quantity.h"

namespace koord::apiserver {

// Returns 0 if the value is not a quantity.
inline Quantity quantityOf(const json::value& value) {
  auto quantity = value.is_string() ? Quantity::parse(std::string_view(value.get_string()))
                                    : Quantity::parse(toJson(value));
  return quantity ? *std::move(quantity) : Quantity{};
}

// The amounts of a map; empty if there is none.
inline api::ResourceList amountsOf(const json::value* map) {
  api::ResourceList out;
  if (!map || !map->is_object()) return out;
  for (const auto& member : map->get_object())
    out.emplace(std::string(member.key()), quantityOf(member.value()));
  return out;
}

}  // namespace koord::apiserver
