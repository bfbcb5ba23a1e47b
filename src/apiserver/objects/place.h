#pragma once

// Where a value of an object is. A chain on the stack that becomes text only when there is
// something to say about the value: with texts made on the way, a name of a megabyte above a
// hundred thousand members would be copied as often.

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
