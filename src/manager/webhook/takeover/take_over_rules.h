#pragma once

// Which new pods go from one scheduler to another, by a ConfigMap (take_over.h):
//
//   from: default-scheduler          # spec.schedulerName that a pod asks for
//   to: koord-scheduler              # what it gets instead; both have these defaults
//   namespaces: shop, batch          # their names; * = all but kube-system and the ConfigMap's own
//   namespaceSelector: stage=test    # or these namespaces
//   selector: app in (web, api)      # of these, the pods with such labels only
//
// Without namespaces and namespaceSelector no pod is taken over. Pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/selector.h"
#include "base/json.h"

namespace koord::manager {

struct TakeOverRules {
  std::string from = "default-scheduler";
  std::string to = "koord-scheduler";
  std::vector<std::string> namespaces;
  bool allNamespaces = false;
  std::vector<std::string> exempt;  // from allNamespaces and namespaceSelector
  api::Selector namespaceSelector = api::Selector::nothing();
  api::Selector selector;  // of pods; the default selects all

  bool selectsAny() const { return allNamespaces || !namespaces.empty() || readsNamespaceLabels(); }
  bool readsNamespaceLabels() const {
    return namespaceSelector.empty() || !namespaceSelector.requirements().empty();
  }
};

// The error names the key of the data.
Result<TakeOverRules> readTakeOverRules(const api::ConfigMap& config);

// One line for the log.
std::string describeTakeOver(const TakeOverRules& rules);

// True if the rules may select pods of this namespace by its labels, which the caller then reads.
bool needsNamespaceLabels(const TakeOverRules& rules, std::string_view namespace_);

// Sets spec.schedulerName if the rules select the pod, which is about to be created in this
// namespace. Returns true if it did. A pod that has a node already is left alone.
bool takeOverPod(const TakeOverRules& rules, std::string_view namespace_,
                 const api::StringMap& namespaceLabels, json::value& pod);

}  // namespace koord::manager
