#pragma once

// NodeResourcesFitPlusArgs: a strategy for each resource.

#include <map>
#include <string>

#include "scheduler/config/fields.h"

namespace koord::scheduler {

struct NodeResourcesFitPlusArgs {
  struct Strategy {
    std::string type;  // LeastAllocated, MostAllocated; others score 0
    std::int64_t weight = 0;
  };
  std::map<std::string, Strategy, std::less<>> resources;

  static NodeResourcesFitPlusArgs read(Fields& fields);
};

}  // namespace koord::scheduler
