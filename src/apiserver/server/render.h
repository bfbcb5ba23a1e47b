#pragma once

// Lists, tables and metadata-only forms of stored objects.

#include <optional>
#include <string>

#include "apiserver/server/match.h"
#include "apiserver/server/target.h"
#include "apiserver/tables/tables.h"

namespace koord::apiserver {

struct ListMeta {
  std::uint64_t version = 0;
  std::string continueToken;
  std::optional<std::size_t> remaining;
};

// Writes the text of a list item by item: a table of a hundred thousand objects takes seconds, in
// which other requests must be answered. Call and target must outlive it.
class ListWriter {
 public:
  ListWriter(const Call& call, const Target& target, const ListMeta& meta, WallTime now);
  void reserve(std::size_t bytes) { text_.reserve(text_.size() + bytes); }
  void add(const Entry& entry);
  std::string finish() &&;

 private:
  const Call& call_;
  const Target& target_;
  const WallTime now_;
  std::optional<TableWriter> table_;
  std::string text_;
  bool first_ = true;
};
// `text` is the stored form of an object.
std::string renderOne(const Call& call, const Target& target, std::string text, WallTime now);
// {"type":"ADDED","object":...}\n
std::string renderEvent(std::string_view type, std::string_view object);
// metadata.k8s.io PartialObjectMetadata of an object.
std::string partialMetadata(std::string_view text);

}  // namespace koord::apiserver
