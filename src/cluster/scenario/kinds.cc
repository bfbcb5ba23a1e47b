#include "cluster/scenario/kinds.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cluster/scenario/jmespath_values.h"

namespace koord::scenario {
namespace {

bool sameIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

api::ObjectKey keyOf(const json::value& object) {
  return {std::string(textAt(object, "metadata", "namespace")),
          std::string(textAt(object, "metadata", "name"))};
}

std::string titleOf(const json::value& object) {
  return fmt::format("{}/{} {}", textAt(object, "apiVersion"), textAt(object, "kind"),
                     keyOf(object).toString());
}

std::string eventLine(const json::value& event) {
  std::string_view source = textAt(event, "source", "component");
  if (source.empty()) source = textAt(event, "reportingComponent");
  const auto* count = at(event, "count");
  const auto times = count && count->is_int64() ? count->get_int64() : 1;
  return fmt::format("{} {} ({}{}): {}", textAt(event, "type"), textAt(event, "reason"),
                     times > 1 ? fmt::format("x{}, ", times) : "", source,
                     textAt(event, "message"));
}

std::string labelSelectorOf(const json::value& labels) {
  std::string result;
  const auto* object = labels.if_object();
  for (std::size_t i = 0; object && i < object->size(); ++i) {
    const auto& member = *std::next(object->begin(), static_cast<std::ptrdiff_t>(i));
    if (!member.value().is_string()) continue;
    result += fmt::format("{}{}={}", result.empty() ? "" : ",", std::string_view(member.key()),
                          jmespath::textOf(member.value()));
  }
  return result;
}

Result<std::optional<json::value>> followPath(const json::value& object, std::string_view path) {
  const auto unsupported = [&] {
    return fail(
        ErrorCode::Invalid,
        fmt::format("{}: only fields and indices are supported, as in {{.status.list[0].name}}",
                    path));
  };
  std::string_view rest = path;
  if (rest.starts_with('{') && rest.ends_with('}')) rest = rest.substr(1, rest.size() - 2);
  const json::value* current = &object;
  while (!rest.empty()) {
    if (rest.starts_with('[')) {
      const auto close = rest.find(']');
      std::size_t index = 0;
      if (close == std::string_view::npos) return unsupported();
      const auto [stop, ec] = std::from_chars(rest.data() + 1, rest.data() + close, index);
      if (ec != std::errc() || stop != rest.data() + close) return unsupported();
      const auto* array = current->if_array();
      if (!array || index >= array->size()) return std::optional<json::value>();
      current = &(*array)[index];
      rest.remove_prefix(close + 1);
      continue;
    }
    if (rest.starts_with('.')) rest.remove_prefix(1);
    std::string name;
    std::size_t i = 0;
    for (; i < rest.size() && rest[i] != '.' && rest[i] != '['; ++i) {
      if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
      name += rest[i];
    }
    if (name.empty() || name == "*") return unsupported();
    rest.remove_prefix(i);
    current = find(*current, name);
    if (!current) return std::optional<json::value>();
  }
  return std::optional(*current);
}

Result<bool> isAsAwaited(const json::value& object, const WaitFor& wait) {
  if (wait.kind == WaitFor::Kind::JsonPath) {
    const auto value = followPath(object, wait.name);
    if (!value) return fail(value.error());
    if (!*value) return false;
    return !wait.value || jmespath::plainText(**value) == *wait.value;
  }
  const auto* conditions = at(object, "status", "conditions");
  const auto* array = conditions ? conditions->if_array() : nullptr;
  for (std::size_t i = 0; array && i < array->size(); ++i) {
    if (!sameIgnoringCase(textAt((*array)[i], "type"), wait.name)) continue;
    return sameIgnoringCase(textAt((*array)[i], "status"), wait.value.value_or("True"));
  }
  return false;
}

}  // namespace koord::scenario
