#include "apiserver/store/entry.h"

#include <boost/json/serializer.hpp>

namespace koord::apiserver {
namespace {

// metadata begins with kVersion, and ends with kManagedFields and the list.
constexpr std::string_view kVersion = "{\"resourceVersion\":\"";
constexpr std::string_view kManagedFields = ",\"managedFields\":";

void drain(std::string& out, json::serializer& serializer) {
  char buffer[4096];
  while (!serializer.done()) {
    const auto piece = serializer.read(buffer);
    out.append(piece.data(), piece.size());
  }
}

void appendMember(std::string& out, const json::key_value_pair& member,
                  json::serializer& serializer) {
  serializer.reset(member.key());
  drain(out, serializer);
  out += ':';
  serializer.reset(&member.value());
  drain(out, serializer);
}

}  // namespace

std::string makeKey(std::string_view namespace_, std::string_view name) {
  std::string key;
  key.reserve(namespace_.size() + name.size() + 1);
  if (!namespace_.empty()) {
    key += namespace_;
    key += '/';
  }
  key += name;
  return key;
}

std::string_view Entry::metadata() const {
  const std::size_t begin = versionAt - kVersion.size();
  const std::size_t end = std::size_t{managedAt} + managedSize + 1;
  return std::string_view(text).substr(begin, end - begin);
}

std::string_view Entry::managedFields() const {
  if (managedSize == 0) return {};
  return std::string_view(text).substr(managedAt + kManagedFields.size(),
                                       managedSize - kManagedFields.size());
}

std::string Entry::bareText() const {
  if (managedSize == 0) return text;
  std::string out;
  out.reserve(text.size() - managedSize);
  out.append(text, 0, managedAt);
  out.append(text, managedAt + managedSize);
  return out;
}

EntryPtr makeEntry(Draft draft, const json::value& object, std::uint64_t version,
                   std::string_view managedFields) {
  auto entry = std::make_shared<Entry>();
  entry->key = std::move(draft.key);
  entry->version = version;
  entry->labels = std::move(draft.labels);
  entry->fields = std::move(draft.fields);

  // apiVersion and kind come first, then metadata, which begins with the resourceVersion, so that
  // its offset is known.
  std::string& out = entry->text;
  out.reserve(2048);
  json::serializer serializer;
  const auto& members = object.get_object();
  out += '{';
  for (const auto* name : {"apiVersion", "kind"}) {
    const auto member = members.find(name);
    if (member == members.end()) continue;
    appendMember(out, *member, serializer);
    out += ',';
  }
  out += "\"metadata\":";
  out += kVersion;
  entry->versionAt = static_cast<std::uint32_t>(out.size());
  out += std::to_string(version);
  out += '"';
  if (const auto* metadata = find(object, "metadata"); metadata && metadata->is_object()) {
    for (const auto& member : metadata->get_object()) {
      if (member.key() == "resourceVersion" || member.key() == "managedFields") continue;
      out += ',';
      appendMember(out, member, serializer);
    }
  }
  // The last member of metadata, so that it can be cut out.
  entry->managedAt = static_cast<std::uint32_t>(out.size());
  if (!managedFields.empty()) {
    out += kManagedFields;
    out += managedFields;
  } else if (const auto* own = at(object, "metadata", "managedFields"); own && own->is_array()) {
    out += kManagedFields;
    serializer.reset(own);
    drain(out, serializer);
  }
  entry->managedSize = static_cast<std::uint32_t>(out.size()) - entry->managedAt;
  out += '}';
  for (const auto& member : members) {
    if (member.key() == "apiVersion" || member.key() == "kind" || member.key() == "metadata")
      continue;
    out += ',';
    appendMember(out, member, serializer);
  }
  out += '}';
  out.shrink_to_fit();
  return entry;
}

std::string textWithVersion(const Entry& entry, std::uint64_t version) {
  const auto end = entry.text.find('"', entry.versionAt);
  return entry.text.substr(0, entry.versionAt) + std::to_string(version) + entry.text.substr(end);
}

}  // namespace koord::apiserver
