#pragma once

// {include: [], exclude: []} of arguments.

#include <set>
#include <string>

#include "base/fields.h"

namespace koord::descheduler {

struct Namespaces {
  std::set<std::string, std::less<>> include;
  std::set<std::string, std::less<>> exclude;

  bool allows(std::string_view name) const {
    return (include.empty() || include.contains(name)) && !exclude.contains(name);
  }
  // Both at once are an error.
  static Namespaces read(Fields& args, std::string_view field);
  json::value document() const;  // null if empty
};

}  // namespace koord::descheduler
