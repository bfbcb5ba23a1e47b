#include "apiserver/server/render.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/server/body.h"
#include "base/brief_json.h"

namespace koord::apiserver {
namespace {

std::string metaText(const ListMeta& meta) {
  json::object out{{"resourceVersion", std::to_string(meta.version)}};
  if (!meta.continueToken.empty()) out["continue"] = meta.continueToken;
  if (meta.remaining) out["remainingItemCount"] = *meta.remaining;
  return toJson(out);
}

constexpr std::string_view kPartial =
    R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)";

// partialMetadata of an entry that is sent in its stored form.
void appendPartial(std::string& out, const Entry& entry) {
  out += kPartial;
  out += entry.metadata();
  out += '}';
}

// The object of a table row, next to its cells: a PartialObjectMetadata, unless the client asks for
// another. It has no managedFields, which are most of it: kubectl would spend more time on them
// than on all the rest, to show nothing of them.
std::string rowObject(const Call& call, json::value object) {
  const auto include = queryOf(call.request, "includeObject");
  if (include == "None") return "null";
  if (include == "Object") return toJson(object);
  auto* metadata = find(object, "metadata");
  if (metadata && metadata->is_object()) metadata->get_object().erase("managedFields");
  return std::string(kPartial) + (metadata ? toJson(*metadata) : "{}") + '}';
}

std::string tableHead(const std::vector<TableColumn>& columns, const std::string& meta) {
  json::array definitions;
  for (const auto& column : columns)
    definitions.push_back({{"name", column.name},
                           {"type", column.type},
                           {"format", column.format},
                           {"description", column.description},
                           {"priority", column.priority}});
  return fmt::format(
      "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
      "v1\",\"metadata\":{},\"columnDefinitions\":{},\"rows\":[",
      meta, toJson(definitions));
}

// The cells come from the stored form; the object has the requested form.
void appendRow(std::string& out, const Call& call, const Target& target, const TableWriter& writer,
               std::string_view stored, WallTime now) {
  auto object = parseJson(stored);
  if (!object) return;
  const json::array cells = writer.cells(*object, now);
  toRequestedForm(*object, target);
  out += fmt::format("{{\"cells\":{},\"object\":{}}}", toJson(cells),
                     rowObject(call, *std::move(object)));
}

// The same for a whole entry in its stored form: the object is cut out of the text, and the cells
// of built-in kinds show nothing of managedFields, which are a third of an object.
void appendStoredRow(std::string& out, const Call& call, const Target& target,
                     const TableWriter& writer, const Entry& entry, WallTime now) {
  const auto bare = target.stored->custom ? std::string() : entry.bareText();
  const BriefJson object(target.stored->custom ? entry.text : bare);
  if (!object) return;
  out += "{\"cells\":";
  out += toJson(writer.cells(*object, now));
  out += ",\"object\":";
  const auto include = queryOf(call.request, "includeObject");
  if (include == "None") {
    out += "null";
  } else if (include == "Object") {
    out += entry.text;
  } else {
    std::string_view metadata = entry.metadata();
    metadata.remove_suffix(entry.managedSize + 1);
    out += kPartial;
    out += metadata;
    out += "}}";
  }
  out += '}';
}

}  // namespace

std::string partialMetadata(std::string_view text) {
  auto object = parseJson(text);
  if (!object) return "null";
  json::object out{{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}};
  if (auto* metadata = find(*object, "metadata")) out["metadata"] = std::move(*metadata);
  return toJson(out);
}

ListWriter::ListWriter(const Call& call, const Target& target, const ListMeta& meta, WallTime now)
    : call_(call), target_(target), now_(now) {
  if (call.format == Format::Table) {
    table_.emplace(*target.resource, *target.version);
    text_ = tableHead(table_->columns(), metaText(meta));
    return;
  }
  const bool partial = call.format == Format::PartialMetadata;
  text_ = fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                      partial ? "PartialObjectMetadataList" : target.resource->listKind,
                      partial ? "meta.k8s.io/v1" : target.apiVersion(), metaText(meta));
}

void ListWriter::add(const Entry& entry) {
  if (!std::exchange(first_, false)) text_ += ',';
  if (table_) {
    if (target_.sameForm()) {
      appendStoredRow(text_, call_, target_, *table_, entry, now_);
    } else {
      appendRow(text_, call_, target_, *table_, entry.text, now_);
    }
  } else if (call_.format == Format::PartialMetadata && target_.sameForm()) {
    appendPartial(text_, entry);
  } else if (call_.format == Format::PartialMetadata) {
    text_ += partialMetadata(entry.text);
  } else if (target_.sameForm()) {
    text_ += entry.text;
  } else {
    text_ += requestedText(entry, target_);
  }
}

std::string ListWriter::finish() && {
  return std::move(text_) + "]}";
}

std::string renderOne(const Call& call, const Target& target, std::string text, WallTime now) {
  if (call.format == Format::PartialMetadata) return partialMetadata(text);
  if (call.format == Format::Object) {
    if (target.sameForm()) return text;
    auto object = parseJson(text);
    if (!object) return text;
    toRequestedForm(*object, target);
    return toJson(*object);
  }
  const TableWriter writer(*target.resource, *target.version);
  auto object = parseJson(text);
  const auto version = object ? std::string(textAt(*object, "metadata", "resourceVersion")) : "";
  std::string out =
      tableHead(writer.columns(), fmt::format("{{\"resourceVersion\":\"{}\"}}", version));
  appendRow(out, call, target, writer, text, now);
  return out + "]}";
}

std::string renderEvent(std::string_view type, std::string_view object) {
  std::string out;
  out.reserve(object.size() + 40);
  out += "{\"type\":\"";
  out += type;
  out += "\",\"object\":";
  out += object;
  out += "}\n";
  return out;
}

}  // namespace koord::apiserver
