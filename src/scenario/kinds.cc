#include "scenario/kinds.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json_path.h"
#include "scenario/jmespath_values.h"

namespace koord::scenario {

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

Result<bool> satisfiesWait(const json::value& object, const WaitFor& wait) {
  if (wait.kind == WaitFor::Kind::JsonPath) {
    const auto values = jsonPath(object, wait.name);
    if (!values) return fail(values.error());
    if (values->size() > 1)
      return fail(ErrorCode::Invalid, fmt::format("{}: selects more than one value", wait.name));
    if (values->empty()) return false;
    return !wait.value || jmespath::plainText(*values->front()) == *wait.value;
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
