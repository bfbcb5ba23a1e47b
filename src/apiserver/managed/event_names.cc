#include "apiserver/managed/event_names.h"

namespace koord::apiserver {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"message", "note"},
    {"involvedObject", "regarding"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

}  // namespace

void renameEvent(json::value& event, bool toCore) {
  auto& members = event.get_object();
  for (const auto& [core, other] : kNames) {
    const auto it = members.find(toCore ? other : core);
    if (it == members.end()) continue;
    json::value value = std::move(it->value());
    members.stable_erase(it);
    members[toCore ? core : other] = std::move(value);
  }
}

api::FieldSet renameEventFields(const api::FieldSet& fields, bool toCore) {
  api::FieldSet out;
  for (const auto& node : fields.nodes()) {
    auto element = node.element;
    for (const auto& [core, other] : kNames)
      if (element.text == (toCore ? other : core)) {
        element.text = toCore ? core : other;
        break;
      }
    auto& copy = out.at(std::move(element));
    copy.member = node.member;
    copy.children = node.children;
  }
  return out;
}

}  // namespace koord::apiserver
