#pragma once

// The parameters of the policies that apply to one request. All bindings that name an object share
// its parsed form.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/server/target.h"
#include "base/result.h"

namespace koord::apiserver {

using PolicyParam = std::shared_ptr<const json::value>;

class PolicyParams {
 public:
  // The objects of `kind` that the paramRef of a binding names, in the version of the kind.
  // `namespace_` is that of the request. Invalid: the reference cannot be followed.
  Result<std::vector<PolicyParam>> find(const Target& kind, const json::value& paramRef,
                                        const std::string& namespace_);

 private:
  PolicyParam parsed(const Target& kind, const EntryPtr& entry);

  std::map<std::pair<EntryPtr, const ResourceVersion*>, PolicyParam> parsed_;
};

}  // namespace koord::apiserver
