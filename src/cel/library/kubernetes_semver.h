#pragma once

#include <compare>
#include <string>
#include <vector>

#include "base/result.h"
#include "cel/library.h"

namespace koord::cel {

// semver("1.2.3") and its functions: Kubernetes' library of semantic versions (https://semver.org,
// 2.0.0).
const Library& semverLibrary();

struct SemanticVersion {
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::vector<std::string> preRelease;  // identifiers
  std::string build;                    // does not count in comparisons

  static Result<SemanticVersion> parse(std::string_view text);
  // Also reads "v1.2", "1" and "01.002.3".
  static Result<SemanticVersion> parseNormalized(std::string_view text);
  std::string toString() const;
  std::strong_ordering operator<=>(const SemanticVersion& other) const;
  bool operator==(const SemanticVersion& other) const { return (*this <=> other) == 0; }
};

const Type& semverType();  // kubernetes.Semver

class SemverOpaque final : public Opaque {
 public:
  explicit SemverOpaque(SemanticVersion held) : version(std::move(held)) {}
  const Type& type() const override { return semverType(); }
  bool equals(const Opaque& other) const override {
    return version == static_cast<const SemverOpaque&>(other).version;
  }
  std::string toString() const override { return version.toString(); }
  const SemanticVersion version;
};

Value semverValue(SemanticVersion version);

}  // namespace koord::cel
