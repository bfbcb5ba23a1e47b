#pragma once

// What a configuration of admission webhooks may say; `before` is null for a new one.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

void validateWebhooks(const json::value& configuration, const json::value* before,
                      FieldErrors& errors);

}  // namespace koord::apiserver
