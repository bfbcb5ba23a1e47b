#pragma once

// /statusz and /flagz: what a component is and how it was started, for people (Kubernetes'
// z-pages).

#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "net/router.h"

namespace koord::net {

struct ZPages {
  std::string component;                                   // "koord-scheduler"
  std::string version;                                     // "v1.2.3"
  std::vector<std::pair<std::string, std::string>> flags;  // without dashes, and their values
  std::vector<std::string> paths;                          // worth looking at
};

// The clock tells since when it runs; it must outlive the router.
void addZPages(Router& router, ZPages pages, const Clock& clock);

}  // namespace koord::net
