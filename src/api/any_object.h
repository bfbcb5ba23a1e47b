#pragma once

// An object of any kind, of which only the metadata are read, from JSON or from a message. For code
// that treats all kinds alike.

#include "api/meta.h"

namespace koord::api {

struct AnyObject {
  // Every kind has its metadata in the same place.
  static constexpr ResourceType kType{"", "v1", "namespaces", "Namespace", false};
  ObjectMeta metadata;
};

}  // namespace koord::api
