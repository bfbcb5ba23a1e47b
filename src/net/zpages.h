#pragma once

// /statusz and /flagz: a component's build and flags, for operators (Kubernetes' z-pages).

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
  std::vector<std::string> paths;                          // endpoints to link to
};

// The clock gives the start time and uptime. It must outlive the router.
void addZPages(Router& router, ZPages pages, const Clock& clock);

}  // namespace koord::net
