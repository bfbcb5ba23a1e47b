#include "cel/library/kubernetes_format.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "cel/library/compiled_regex.h"
#include "cel/library/url.h"
#include "cel/syntax/macro.h"
#include "cel/time_text.h"

namespace koord::cel {

namespace {

using Problems = std::vector<std::string>;

struct NamedFormat {
  std::string_view function;
  std::string_view name;
  Problems (*validate)(std::string_view text);
  std::uint64_t patternSize;
};

class FormatOpaque final : public Opaque {
 public:
  explicit FormatOpaque(const NamedFormat& held) : format(held) {}
  const Type& type() const override { return formatType(); }
  bool equals(const Opaque& other) const override {
    return format.name == static_cast<const FormatOpaque&>(other).format.name;
  }
  std::string toString() const override { return std::string(format.name); }
  const NamedFormat& format;
};

constexpr std::string_view kLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomain =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kLabel1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kNamePart = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kLabelValue = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
constexpr std::string_view kUuid =
    "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";

bool matchesWhole(std::string_view text, std::string_view pattern) {
  const auto regex = compileRegex(pattern);
  return regex && re2::RE2::FullMatch(asPiece(text), **regex);
}

std::string tooLong(std::size_t most) {
  return fmt::format("must be no more than {} characters", most);
}

// Kubernetes' words for a text that does not match a pattern; `examples` as they stand in the
// message.
std::string mismatchOf(std::string_view rule, std::string_view examples, std::string_view pattern) {
  return fmt::format("{} (e.g. {}, regex used for validation is '{}')", rule, examples, pattern);
}

Problems checkLabel(std::string_view text) {
  Problems problems;
  if (text.size() > 63) problems.push_back(tooLong(63));
  if (!matchesWhole(text, kLabel))
    problems.push_back(mismatchOf(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character",
        "'my-name',  or '123-abc'", kLabel));
  return problems;
}

Problems checkSubdomain(std::string_view text) {
  Problems problems;
  if (text.size() > 253) problems.push_back(tooLong(253));
  if (!matchesWhole(text, kSubdomain))
    problems.push_back(mismatchOf(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character",
        "'example.com'", kSubdomain));
  return problems;
}

Problems checkLabel1035(std::string_view text) {
  Problems problems;
  if (text.size() > 63) problems.push_back(tooLong(63));
  if (!matchesWhole(text, kLabel1035))
    problems.push_back(mismatchOf(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character",
        "'my-name',  or 'abc-123'", kLabel1035));
  return problems;
}

// A prefix that ends with a dash is valid if any name can follow.
template <Problems (*kCheck)(std::string_view)>
Problems checkPrefix(std::string_view text) {
  std::string name(text);
  if (name.size() > 1 && name.ends_with('-')) name.back() = 'a';
  return kCheck(name);
}

Problems checkQualifiedName(std::string_view text) {
  const std::string rule = mismatchOf(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character",
      "'MyName',  or 'my.name',  or '123-abc'", kNamePart);
  Problems problems;
  const std::size_t slash = text.find('/');
  std::string_view name = text;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return {"a qualified name " + rule +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    if (prefix.empty()) {
      problems.push_back("prefix part must be non-empty");
    } else {
      for (const std::string& problem : checkSubdomain(prefix))
        problems.push_back("prefix part " + problem);
    }
  }
  if (name.empty()) {
    problems.push_back("name part must be non-empty");
  } else if (name.size() > 63) {
    problems.push_back("name part " + tooLong(63));
  }
  if (!matchesWhole(name, kNamePart)) problems.push_back("name part " + rule);
  return problems;
}

Problems checkLabelValue(std::string_view text) {
  Problems problems;
  if (text.size() > 63) problems.push_back(tooLong(63));
  if (!matchesWhole(text, kLabelValue))
    problems.push_back(mismatchOf(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        "'MyValue',  or 'my_value',  or '12345'", kLabelValue));
  return problems;
}

Problems checkUri(std::string_view text) {
  const auto url = Url::parseRequestUri(text);
  if (url) return {};
  constexpr std::string_view kPrefix = "URL parse error during conversion from string: ";
  return {url.error().message.substr(kPrefix.size())};
}

Problems checkUuid(std::string_view text) {
  return matchesWhole(text, kUuid) ? Problems{} : Problems{"does not match the UUID format"};
}

Problems checkByte(std::string_view text) {
  const bool valid =
      text.find_first_of(" \t\r\n") == std::string_view::npos && base64Decode(text).has_value();
  return valid ? Problems{} : Problems{"invalid base64"};
}

Problems checkDate(std::string_view text) {
  const bool valid = text.size() == 10 && parseTimestamp(std::string(text) + "T00:00:00Z");
  return valid ? Problems{} : Problems{"invalid date"};
}

Problems checkDateTime(std::string_view text) {
  return parseTimestamp(text) ? Problems{} : Problems{"invalid datetime"};
}

constexpr std::uint64_t kUrlPattern = 1103, kBase64Pattern = 84, kUuidPattern = 70,
                        kDateTimePattern = 71;
constexpr NamedFormat kFormats[] = {
    {"dns1123Label", "DNS1123Label", checkLabel, 30},
    {"dns1123Subdomain", "DNS1123Subdomain", checkSubdomain, 60},
    {"dns1035Label", "DNS1035Label", checkLabel1035, 30},
    {"qualifiedName", "QualifiedName", checkQualifiedName, 60},
    {"dns1123LabelPrefix", "DNS1123LabelPrefix", checkPrefix<checkLabel>, 30},
    {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", checkPrefix<checkSubdomain>, 60},
    {"dns1035LabelPrefix", "DNS1035LabelPrefix", checkPrefix<checkLabel1035>, 30},
    {"labelValue", "LabelValue", checkLabelValue, 40},
    {"uri", "URI", checkUri, kUrlPattern},
    {"uuid", "uuid", checkUuid, kUuidPattern},
    {"byte", "byte", checkByte, kBase64Pattern},
    {"date", "date", checkDate, kDateTimePattern},
    {"datetime", "datetime", checkDateTime, kDateTimePattern},
};

const NamedFormat& formatOf(const Value& value) {
  return static_cast<const FormatOpaque&>(value.asOpaque()).format;
}
Value formatValue(const NamedFormat& format) {
  return Value::adopt(static_cast<const Opaque*>(new FormatOpaque(format)));
}

Value validateFormat(Arguments x) {
  std::vector<Value> problems;
  for (std::string& problem : formatOf(x[0]).validate(x[1].text()))
    problems.push_back(Value::string(std::move(problem)));
  return problems.empty() ? Value::none() : Value::optional(Value::list(std::move(problems)));
}

Value namedFormat(Arguments x) {
  for (const NamedFormat& format : kFormats)
    if (format.function == x[0].text()) return Value::optional(formatValue(format));
  return Value::none();
}

}  // namespace

const Type& formatType() {
  static const Type kType = Type::opaque("kubernetes.NamedFormat");
  return kType;
}

std::uint64_t patternSizeOf(const Value& format) {
  return formatOf(format).patternSize;
}

const Library& formatLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.format";
    const Type f = formatType(), s = Type::string();
    library.addType(f.name(), f);
    library.add("validate", {memberOverload("format-validate", {f, s},
                                            Type::optional(Type::list(s)), validateFormat)});
    library.add("format.named",
                {globalOverload("format-named", {s}, Type::optional(f), namedFormat)});
    for (const NamedFormat& format : kFormats) {
      const std::string function = fmt::format("format.{}", format.function);
      library.add(function, {globalOverload(function, {}, f,
                                            [&format](Arguments) { return formatValue(format); })});
    }
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
