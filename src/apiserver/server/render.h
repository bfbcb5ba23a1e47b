#pragma once

// Lists, tables and metadata-only forms of stored objects.

#include "apiserver/server/match.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

struct ListMeta {
  std::uint64_t version = 0;
  std::string continueToken;
  std::optional<std::size_t> remaining;
};

std::string renderList(const Call& call, const Target& target, const std::vector<EntryPtr>& entries,
                       const ListMeta& meta, WallTime now);
// `text` is the stored form of an object.
std::string renderOne(const Call& call, const Target& target, std::string text, WallTime now);
// {"type":"ADDED","object":...}\n
std::string renderEvent(std::string_view type, std::string_view object);
// metadata.k8s.io PartialObjectMetadata of an object.
std::string partialMetadata(std::string_view text);

}  // namespace koord::apiserver
