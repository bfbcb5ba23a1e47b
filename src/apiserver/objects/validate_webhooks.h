#pragma once

// Validation of webhook configurations; `before` is null for a new object.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

void validateWebhooks(const json::value& configuration, const json::value* before,
                      FieldErrors& errors);

}  // namespace koord::apiserver
