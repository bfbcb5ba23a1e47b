#pragma once

// How a strategy for some nodes is laid over the one of the cluster: what the overlay does not set
// stays.

#include "api/codec.h"

namespace koord::model {

// Objects are merged member by member, lists element by element: an element continues the base's
// element at the same place when the two have the same name, and stands alone otherwise. Everything
// else is replaced. Members called extensions, ratioModel and schedFeatures are maps: their values
// are replaced whole.
json::value mergeDocuments(const json::value& base, const json::value& overlay);

template <class Strategy>
Strategy merge(const Strategy& base, const Strategy& overlay) {
  // What encode gives, decode takes.
  return *api::decode<Strategy>(mergeDocuments(api::encode(base), api::encode(overlay)));
}

}  // namespace koord::model
