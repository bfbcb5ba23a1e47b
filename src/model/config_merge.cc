#include "model/config_merge.h"

#include <algorithm>

namespace koord::model {

namespace {

bool isMap(std::string_view member) {
  return member == "extensions" || member == "ratioModel" || member == "schedFeatures";
}

json::value mergeLists(const json::array& base, const json::array& overlay) {
  json::array merged;
  merged.reserve(overlay.size());
  for (std::size_t i = 0; i < overlay.size(); ++i) {
    const std::string_view name = textAt(overlay[i], "name");
    const bool same = i < base.size() && !name.empty() && textAt(base[i], "name") == name;
    merged.push_back(same ? mergeDocuments(base[i], overlay[i]) : overlay[i]);
  }
  return merged;
}

}  // namespace

json::value mergeDocuments(const json::value& base, const json::value& overlay) {
  if (base.is_array() && overlay.is_array())
    return mergeLists(base.get_array(), overlay.get_array());
  if (!base.is_object() || !overlay.is_object()) return overlay;
  json::object merged = base.get_object();
  for (const auto& entry : overlay.get_object()) {
    json::value& place = merged[entry.key()];
    if (isMap(entry.key()) && place.is_object() && entry.value().is_object()) {
      for (const auto& value : entry.value().get_object())
        place.get_object()[value.key()] = value.value();
    } else {
      place = mergeDocuments(place, entry.value());
    }
  }
  return merged;
}

}  // namespace koord::model
