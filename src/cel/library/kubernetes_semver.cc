#include "cel/library/kubernetes_semver.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

bool isNumeric(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool isIdentifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::unexpected<Error> invalidVersion(std::string_view text, std::string_view why) {
  return fail(ErrorCode::BadRequest, fmt::format("invalid semantic version \"{}\": {}", text, why));
}

std::optional<std::uint64_t> numberOfVersion(std::string_view text) {
  if (!isNumeric(text) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> splitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Numbers come before words; numbers compare by number, words by byte.
std::strong_ordering compareIdentifiers(const std::string& a, const std::string& b) {
  const bool numberA = isNumeric(a), numberB = isNumeric(b);
  if (numberA && numberB) return a.size() != b.size() ? a.size() <=> b.size() : a.compare(b) <=> 0;
  if (numberA != numberB)
    return numberA ? std::strong_ordering::less : std::strong_ordering::greater;
  return a.compare(b) <=> 0;
}

}  // namespace

Result<SemanticVersion> SemanticVersion::parse(std::string_view text) {
  if (text.empty()) return invalidVersion(text, "it is empty");
  SemanticVersion version;
  std::string_view core = text;
  if (const std::size_t plus = core.find('+'); plus != std::string_view::npos) {
    version.build = core.substr(plus + 1);
    for (const std::string_view part : splitAt(version.build, '.'))
      if (!isIdentifier(part)) return invalidVersion(text, "invalid build metadata");
    core = core.substr(0, plus);
  }
  if (const std::size_t dash = core.find('-'); dash != std::string_view::npos) {
    for (const std::string_view part : splitAt(core.substr(dash + 1), '.')) {
      if (!isIdentifier(part) || (isNumeric(part) && !numberOfVersion(part)))
        return invalidVersion(text, "invalid prerelease identifier");
      version.preRelease.emplace_back(part);
    }
    core = core.substr(0, dash);
  }
  const auto parts = splitAt(core, '.');
  if (parts.size() != 3) return invalidVersion(text, "no Major.Minor.Patch elements found");
  std::uint64_t* const numbers[] = {&version.major, &version.minor, &version.patch};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = numberOfVersion(parts[i]);
    if (!number) return invalidVersion(text, "invalid number");
    *numbers[i] = *number;
  }
  return version;
}

Result<SemanticVersion> SemanticVersion::parseNormalized(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  std::vector<std::string> parts;
  for (int i = 0; i < 3; ++i) {
    const std::size_t dot = i < 2 ? rest.find('.') : std::string_view::npos;
    parts.emplace_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  for (std::string& part : parts) {
    if (part.size() <= 1) continue;
    part.erase(0, part.find_first_not_of('0'));
    if (part.empty() || part[0] < '0' || part[0] > '9') part.insert(0, "0");
  }
  if (parts.size() < 3 && parts.back().find_first_of("+-") != std::string::npos)
    return invalidVersion(text, "short version cannot contain PreRelease/Build meta data");
  while (parts.size() < 3) parts.emplace_back("0");
  return parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

std::string SemanticVersion::toString() const {
  std::string text = fmt::format("{}.{}.{}", major, minor, patch);
  for (std::size_t i = 0; i < preRelease.size(); ++i) text += (i == 0 ? "-" : ".") + preRelease[i];
  return build.empty() ? text : text + "+" + build;
}

std::strong_ordering SemanticVersion::operator<=>(const SemanticVersion& other) const {
  if (const auto order = major <=> other.major; order != 0) return order;
  if (const auto order = minor <=> other.minor; order != 0) return order;
  if (const auto order = patch <=> other.patch; order != 0) return order;
  // A version without pre-release comes after those with one.
  if (preRelease.empty() || other.preRelease.empty())
    return preRelease.empty() <=> other.preRelease.empty();
  for (std::size_t i = 0; i < preRelease.size() && i < other.preRelease.size(); ++i)
    if (const auto order = compareIdentifiers(preRelease[i], other.preRelease[i]); order != 0)
      return order;
  return preRelease.size() <=> other.preRelease.size();
}

namespace {

const SemanticVersion& versionOf(const Value& value) {
  return static_cast<const SemverOpaque&>(value.asOpaque()).version;
}

Result<SemanticVersion> versionFrom(Arguments x) {
  return x.size() == 2 && x[1].asBool() ? SemanticVersion::parseNormalized(x[0].text())
                                        : SemanticVersion::parse(x[0].text());
}
Value toSemver(Arguments x) {
  auto version = versionFrom(x);
  return version ? semverValue(*std::move(version)) : Value::error(version.error().message);
}
Value isSemver(Arguments x) {
  return Value::boolean(versionFrom(x).has_value());
}

}  // namespace

const Type& semverType() {
  static const Type kType = Type::opaque("kubernetes.Semver");
  return kType;
}
Value semverValue(SemanticVersion version) {
  return Value::adopt(static_cast<const Opaque*>(new SemverOpaque(std::move(version))));
}

const Library& semverLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.semver";
    const Type v = semverType(), s = Type::string(), i = Type::integer(), flag = Type::boolean();
    library.addType(v.name(), v);
    library.add("semver", {globalOverload("string_to_semver", {s}, v, toSemver),
                           globalOverload("string_bool_to_semver", {s, flag}, v, toSemver)});
    library.add("isSemver", {globalOverload("is_semver_string", {s}, flag, isSemver),
                             globalOverload("is_semver_string_bool", {s, flag}, flag, isSemver)});
    library.add("isGreaterThan",
                {memberOverload("semver_is_greater_than", {v, v}, flag, [](Arguments x) {
                  return Value::boolean(versionOf(x[0]) > versionOf(x[1]));
                })});
    library.add("isLessThan", {memberOverload("semver_is_less_than", {v, v}, flag, [](Arguments x) {
                  return Value::boolean(versionOf(x[0]) < versionOf(x[1]));
                })});
    library.add("compareTo", {memberOverload("semver_compare_to", {v, v}, i, [](Arguments x) {
                  const auto order = versionOf(x[0]) <=> versionOf(x[1]);
                  return Value::integer(order < 0 ? -1 : order > 0 ? 1 : 0);
                })});
    const auto part = [](std::uint64_t SemanticVersion::* member) {
      return [member](Arguments x) {
        return Value::integer(static_cast<std::int64_t>(versionOf(x[0]).*member));
      };
    };
    library.add("major", {memberOverload("semver_major", {v}, i, part(&SemanticVersion::major))});
    library.add("minor", {memberOverload("semver_minor", {v}, i, part(&SemanticVersion::minor))});
    library.add("patch", {memberOverload("semver_patch", {v}, i, part(&SemanticVersion::patch))});
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
