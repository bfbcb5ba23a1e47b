#pragma once

// core/v1 and events.k8s.io/v1 hold the same events under other names; they are stored as core/v1.

#include <string_view>

#include "api/patch/field_set.h"

namespace koord::apiserver {

inline constexpr std::string_view kEventsApiVersion = "events.k8s.io/v1";

void renameEvent(json::value& event, bool toCore);
api::FieldSet renameEventFields(const api::FieldSet& fields, bool toCore);

}  // namespace koord::apiserver
