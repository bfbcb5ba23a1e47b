#pragma once

// Overlays the strategy for some nodes on the strategy of the cluster: fields that the overlay does
// not set keep the cluster's value.

#include "api/codec.h"

namespace koord::model {

// Merges objects member by member, lists element by element: an element is merged with the base's
// element at the same index if both have the same name, and is used alone otherwise. Everything
// else is replaced. Members called extensions, ratioModel and schedFeatures are maps: their values
// are replaced as a whole.
json::value mergeDocuments(const json::value& base, const json::value& overlay);

template <class Strategy>
Strategy merge(const Strategy& base, const Strategy& overlay) {
  // decode() accepts the output of encode().
  return *api::decode<Strategy>(mergeDocuments(api::encode(base), api::encode(overlay)));
}

}  // namespace koord::model
