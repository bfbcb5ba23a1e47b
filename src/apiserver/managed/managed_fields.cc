#include "apiserver/managed/managed_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "apiserver/managed/event_names.h"

namespace koord::apiserver {
namespace {

auto order(const ManagedEntry& entry) {
  // Times have one format and zone, so they compare as text.
  return std::tie(entry.time, entry.manager, entry.apiVersion, entry.subresource);
}

void sortEntries(ManagedFields& managed) {
  std::ranges::sort(managed, [](const ManagedEntry& a, const ManagedEntry& b) {
    if (a.applied != b.applied) return a.applied;
    return order(a) < order(b);
  });
}

Result<ManagedEntry> parseEntry(const json::value& in) {
  ManagedEntry entry;
  entry.manager = textAt(in, "manager");
  const auto operation = textAt(in, "operation");
  if (operation != "Apply" && operation != "Update")
    return fail(ErrorCode::Invalid, "operation must be `Apply` or `Update`");
  entry.applied = operation == "Apply";
  entry.apiVersion = textAt(in, "apiVersion");
  if (entry.apiVersion.empty()) return fail(ErrorCode::Invalid, "apiVersion must not be empty");
  if (textAt(in, "fieldsType") != "FieldsV1")
    return fail(ErrorCode::Invalid, fmt::format("invalid fieldsType {}", textAt(in, "fieldsType")));
  entry.time = textAt(in, "time");
  entry.subresource = textAt(in, "subresource");
  if (const auto* fields = find(in, "fieldsV1"); fields && !fields->is_null()) {
    auto set = api::parseFieldSet(*fields);
    if (!set) return fail(std::move(set.error()).within("fieldsV1"));
    entry.fields = *std::move(set);
    if (entry.apiVersion == kEventsApiVersion) entry.fields = renameEventFields(entry.fields, true);
  }
  return entry;
}

std::string quoted(std::string_view text) {
  return toJson(json::value(json::string_view(text)));
}

void appendEntry(std::string& out, const ManagedEntry& entry, std::string_view fields) {
  if (out.size() > 1) out += ',';
  out += "{\"manager\":";
  out += quoted(entry.manager);
  out += entry.applied ? ",\"operation\":\"Apply\"" : ",\"operation\":\"Update\"";
  out += ",\"apiVersion\":";
  out += quoted(entry.apiVersion);
  if (!entry.time.empty()) {
    out += ",\"time\":";
    out += quoted(entry.time);
  }
  out += ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":";
  out += fields;
  if (!entry.subresource.empty()) {
    out += ",\"subresource\":";
    out += quoted(entry.subresource);
  }
  out += '}';
}

}  // namespace

bool ManagedEntry::sameManager(const ManagedEntry& other) const {
  return manager == other.manager && applied == other.applied && subresource == other.subresource &&
         (applied || apiVersion == other.apiVersion);
}

Result<ManagedFields> parseManagedFields(const json::value& list) {
  ManagedFields out;
  if (list.is_null()) return out;
  if (!list.is_array()) return fail(ErrorCode::Invalid, "metadata.managedFields: expected a list");
  for (std::size_t i = 0; i < list.get_array().size(); ++i) {
    auto entry = parseEntry(list.get_array()[i]);
    if (!entry)
      return fail(std::move(entry.error()).within(fmt::format("metadata.managedFields[{}]", i)));
    out.push_back(*std::move(entry));
  }
  return out;
}

std::string managedText(ManagedFields managed) {
  if (managed.empty()) return "";
  sortEntries(managed);
  std::string out = "[";
  out.reserve(1024);
  for (const auto& entry : managed) {
    std::string fields;
    const bool renamed = entry.apiVersion == kEventsApiVersion;
    api::appendText(fields, renamed ? renameEventFields(entry.fields, false) : entry.fields);
    appendEntry(out, entry, fields);
  }
  return out + "]";
}

std::string newManagedText(const json::value& object, const ManagedWrite& write) {
  if (write.apiVersion == kEventsApiVersion) {  // uses other names
    ManagedFields managed;
    noteUpdate(managed, changesOf(json::object{}, object, write), write);
    return managedText(std::move(managed));
  }
  static const auto withoutStatus = unite(systemFields(), api::fieldSetOf({"status"}));
  const auto fields =
      api::newFieldsText(object, write.schema, write.ignored ? withoutStatus : systemFields());
  if (fields == "{}") return "";
  std::string out = "[";
  appendEntry(out, {write.manager, false, write.apiVersion, write.now, write.subresource, {}},
              fields);
  return out + "]";
}

bool sameManagers(const ManagedFields& a, const ManagedFields& b) {
  if (a.size() != b.size()) return false;
  const auto sorted = [](const ManagedFields& managed) {
    std::vector<const ManagedEntry*> entries;
    for (const auto& entry : managed) entries.push_back(&entry);
    std::ranges::stable_sort(entries, {}, [](const ManagedEntry* entry) {
      return std::tie(entry->manager, entry->applied, entry->apiVersion, entry->subresource);
    });
    return entries;
  };
  return std::ranges::equal(
      sorted(a), sorted(b), [](const ManagedEntry* one, const ManagedEntry* other) {
        return one->sameManager(*other) && one->apiVersion == other->apiVersion &&
               one->fields == other->fields;
      });
}

}  // namespace koord::apiserver
