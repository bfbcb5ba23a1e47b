#include "cluster/snapshot/snapshot.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <boost/json/object.hpp>

namespace koord::cluster {

namespace {

bool flagOf(const json::value& object, std::string_view key) {
  const auto* value = find(object, key);
  return value && value->is_bool() && value->get_bool();
}

}  // namespace

std::string encodeHeader(const SnapshotHeader& header) {
  const bool complete = header.scope == SnapshotHeader::Scope::Complete;
  return toPrettyJson(json::object{{"kind", "Snapshot"},
                                   {"formatVersion", kSnapshotVersion},
                                   {"scope", complete ? "complete" : "support"},
                                   {"secrets", header.secrets},
                                   {"names", header.namesHashed ? "hashed" : "plain"},
                                   {"createdAt", header.createdAt},
                                   {"program", header.program},
                                   {"cluster", header.cluster},
                                   {"dataDir", header.dataDir},
                                   {"resourceVersion", header.resourceVersion}}) +
         "\n";
}

Result<SnapshotHeader> decodeHeader(std::string_view text) {
  const auto document = parseJson(text);
  if (!document) return fail(Error(document.error()).within(kSnapshotHeader));
  if (textAt(*document, "kind") != "Snapshot")
    return fail(ErrorCode::Invalid, fmt::format("{}: kind must be Snapshot", kSnapshotHeader));
  const auto* version = find(*document, "formatVersion");
  const auto number = version ? wholeNumber(*version) : std::nullopt;
  if (!number || *number < 1 || *number > kSnapshotVersion)
    return fail(
        ErrorCode::Invalid,
        fmt::format("{}: formatVersion is {}, and this koordctl reads 1 to {}: take the koordctl "
                    "that wrote it, or a later one",
                    kSnapshotHeader, number.value_or(0), kSnapshotVersion));
  SnapshotHeader header;
  header.formatVersion = static_cast<int>(*number);
  const auto scope = textAt(*document, "scope");
  if (scope != "complete" && scope != "support")
    return fail(ErrorCode::Invalid,
                fmt::format("{}: scope must be complete or support", kSnapshotHeader));
  header.scope =
      scope == "complete" ? SnapshotHeader::Scope::Complete : SnapshotHeader::Scope::Support;
  header.secrets = flagOf(*document, "secrets");
  header.namesHashed = textAt(*document, "names") == "hashed";
  header.createdAt = textAt(*document, "createdAt");
  header.program = textAt(*document, "program");
  header.cluster = textAt(*document, "cluster");
  header.dataDir = textAt(*document, "dataDir");
  header.resourceVersion = textAt(*document, "resourceVersion");
  return header;
}

SnapshotDigest::SnapshotDigest() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}

SnapshotDigest::~SnapshotDigest() {
  EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_));
}

void SnapshotDigest::addEntry(std::string_view name, std::string_view link) {
  while (name.ends_with('/')) name.remove_suffix(1);
  for (const auto text : {name, link}) {
    add(text);
    add(std::string_view("\0", 1));
  }
}

void SnapshotDigest::add(std::string_view bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}

std::string SnapshotDigest::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace koord::cluster
