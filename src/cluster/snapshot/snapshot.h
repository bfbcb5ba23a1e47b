#pragma once

// The header of a snapshot and the names of its entries; README.md describes the format.

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace koord::cluster {

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
};

inline constexpr const char* kSnapshotHeader = "snapshot.json";
inline constexpr const char* kSnapshotEnd = "end.json";
inline constexpr const char* kSnapshotObjects = "objects/";
inline constexpr const char* kSnapshotData = "data/";
// The folders of a data folder that a complete snapshot has.
inline constexpr const char* kSnapshotTrees[] = {"pki", "volumes"};

std::string encodeHeader(const SnapshotHeader& header);
Result<SnapshotHeader> decodeHeader(std::string_view text);

// SHA-256 over the contents of entries.
class SnapshotDigest {
 public:
  SnapshotDigest();
  ~SnapshotDigest();
  SnapshotDigest(const SnapshotDigest&) = delete;
  SnapshotDigest& operator=(const SnapshotDigest&) = delete;
  void add(std::string_view bytes);
  std::string hex();  // once

 private:
  void* context_;
};

}  // namespace koord::cluster
