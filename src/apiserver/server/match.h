#pragma once

// The label and field selectors of a list or watch, compiled against a resource.

#include "api/selector.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

class Match {
 public:
  // Fails for selectors that cannot be parsed and for fields that the resource does not support.
  static Outcome<Match> compile(const kube::Request& request, const Target& target);

  bool operator()(const Entry& entry) const;
  // The namespace or name that the selectors fix, for a look-up instead of a search; "" if not
  // fixed.
  const std::string& inNamespace() const { return inNamespace_; }
  const std::string& name() const { return name_; }
  bool everything() const {
    return labels_.empty() && fields_.empty() && name_.empty() && inNamespace_.empty();
  }

 private:
  struct Field {
    int index = 0;  // among the entry's fields; -1 the name, -2 the namespace
    // For a custom resource, whose definition may have had other fields when the entry was made.
    std::string path = {};
    bool equal = true;
    std::string value;
  };
  std::string inNamespace_;
  std::string name_;
  api::Selector labels_;
  std::vector<Field> fields_;
  ResourcePtr custom_;  // read fields from its objects; null: the entries have them
};

}  // namespace koord::apiserver
