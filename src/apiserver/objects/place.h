#pragma once

// The path of a value in an object. It is a chain on the stack, formatted as text only for an error
// message. Building the text on the way would copy a long name once per member below it.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

namespace koord::apiserver {

struct Place {
  const Place* above = nullptr;
  std::string_view member = {};
  std::optional<std::size_t> element = {};

  // "spec.containers[0].image"; "" for the object itself.
  std::string text() const {
    if (!above) return "";
    auto path = above->text();
    if (element) return fmt::format("{}[{}]", path, *element);
    if (!path.empty()) path += '.';
    return path.append(member);
  }
};

}  // namespace koord::apiserver
