#pragma once

// Values and types of cel-spec's tests as ours.

#include <optional>

#include "cel/type.h"
#include "cel/value.h"
#include "textproto.h"

namespace koord::celtest {

// Of a cel.expr.Value; nullopt if it has no counterpart here.
std::optional<cel::Value> valueOf(const Proto& proto);
// Of a google.protobuf message that the name gives, e.g. Int64Value.
std::optional<cel::Value> wellKnownValue(std::string_view name, const Proto& message);
// Of a cel.expr.Type.
std::optional<cel::Type> typeOf(const Proto& proto);
// As ==, but NaN is NaN, and numbers have the same type.
bool same(const cel::Value& a, const cel::Value& b);

}  // namespace koord::celtest
