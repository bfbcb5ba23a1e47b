#include "apiserver/objects/resource_versions.h"

#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kFlat = "v1beta1";
constexpr std::string_view kExactFields[] = {"deviceClassName", "selectors",   "allocationMode",
                                             "count",           "adminAccess", "tolerations",
                                             "capacity"};

// Go's zero, which has no place in JSON: such a field does not make a request an exact one.
bool isZero(const json::value& value) {
  return value.is_null() || value == "" || value == 0;
}

// The spec of a claim, also in a template; nullptr if there is none.
json::object* claimSpecOf(json::value& object, std::string_view plural) {
  auto* spec = memberObject(object.get_object(), "spec");
  return spec && plural == "resourceclaimtemplates" ? memberObject(*spec, "spec") : spec;
}

// Calls `change` with each object in a list of the parent.
template <class Change>
void eachIn(json::object* parent, std::string_view list, Change change) {
  auto* items = parent ? arrayAt(*parent, list) : nullptr;
  if (!items) return;
  for (auto& item : *items)
    if (auto* object = item.if_object()) change(*object);
}

void nestRequest(json::object& request) {
  json::object exactly;
  for (const auto name : kExactFields) {
    const auto* member = request.if_contains(name);
    if (member && !isZero(*member)) exactly.emplace(name, *member);
    eraseMember(request, name);
  }
  if (!exactly.empty()) request["exactly"] = std::move(exactly);
}

void flattenRequest(json::object& request) {
  const auto* exactly = memberObject(request, "exactly");
  if (!exactly) return;
  json::object members = *exactly;
  eraseMember(request, "exactly");
  for (auto& member : members) request[member.key()] = std::move(member.value());
}

void flattenDevice(json::object& device) {
  const auto* basic = memberObject(device, "basic");
  json::object members = basic ? *basic : json::object{};
  eraseMember(device, "basic");
  for (auto& member : members) device[member.key()] = std::move(member.value());
}

void nestDevice(json::object& device) {
  json::object basic;
  json::object outer;
  for (auto& member : device)
    (member.key() == "name" ? outer : basic).emplace(member.key(), std::move(member.value()));
  outer["basic"] = std::move(basic);
  device = std::move(outer);
}

bool isClaim(std::string_view plural) {
  return plural == "resourceclaims" || plural == "resourceclaimtemplates";
}

}  // namespace

void toStoredResource(json::value& object, std::string_view plural, std::string_view version) {
  if (version != kFlat || !object.is_object()) return;
  if (isClaim(plural)) {
    auto* spec = claimSpecOf(object, plural);
    eachIn(spec ? memberObject(*spec, "devices") : nullptr, "requests", nestRequest);
  } else if (plural == "resourceslices") {
    auto* spec = memberObject(object.get_object(), "spec");
    eachIn(spec, "devices", flattenDevice);
    if (!spec) return;
    if (textAt(*spec, "nodeName").empty()) eraseMember(*spec, "nodeName");
    if (!flagAt(*spec, "allNodes")) eraseMember(*spec, "allNodes");
  }
}

void toResourceVersion(json::value& object, std::string_view plural, std::string_view version) {
  if (version != kFlat || !object.is_object()) return;
  if (isClaim(plural)) {
    auto* spec = claimSpecOf(object, plural);
    eachIn(spec ? memberObject(*spec, "devices") : nullptr, "requests", flattenRequest);
  } else if (plural == "resourceslices") {
    eachIn(memberObject(object.get_object(), "spec"), "devices", nestDevice);
  }
}

}  // namespace koord::apiserver
