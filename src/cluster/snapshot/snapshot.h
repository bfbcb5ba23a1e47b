#pragma once

// The header of a snapshot and the names of its entries; README.md describes the format.

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace koord::cluster {

// Version 1 had a digest of contents only. Readers know both.
inline constexpr int kSnapshotVersion = 2;

struct SnapshotHeader {
  enum class Scope { Complete, Support };
  Scope scope = Scope::Complete;
  bool secrets = true;
  bool namesHashed = false;
  std::string createdAt;  // RFC 3339
  std::string program;    // "koordctl 0.1.0"
  std::string cluster;    // "" = it has no name
  std::string dataDir;    // "" = none
  std::string resourceVersion;
  int formatVersion = kSnapshotVersion;  // as read
};

inline constexpr const char* kSnapshotHeader = "snapshot.json";
inline constexpr const char* kSnapshotEnd = "end.json";
inline constexpr const char* kSnapshotObjects = "objects/";
inline constexpr const char* kSnapshotData = "data/";
// The folders of a data folder that a complete snapshot has.
inline constexpr const char* kSnapshotTrees[] = {"pki", "volumes"};

std::string encodeHeader(const SnapshotHeader& header);
Result<SnapshotHeader> decodeHeader(std::string_view text);

// SHA-256 over the entries: the contents of the header; names, targets of links and contents of
// the others.
class SnapshotDigest {
 public:
  SnapshotDigest();
  ~SnapshotDigest();
  SnapshotDigest(const SnapshotDigest&) = delete;
  SnapshotDigest& operator=(const SnapshotDigest&) = delete;
  // link: the target of a link, "" = it is none. A slash at the end of the name does not count.
  void addEntry(std::string_view name, std::string_view link);
  void add(std::string_view bytes);  // of the contents
  std::string hex();                 // once

 private:
  void* context_;
};

}  // namespace koord::cluster
