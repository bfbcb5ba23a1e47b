#pragma once

// The common base of the Kubernetes descheduler's plugins: namespaces and labels of their pods, and
// evictions.

#include <string>
#include <vector>

#include "api/selector.h"
#include "base/fields.h"
#include "descheduler/framework/plugin_kind.h"
#include "descheduler/rules/arguments.h"
#include "descheduler/rules/namespaces.h"

namespace koord::descheduler {

struct PodScope {
  Namespaces namespaces;
  std::optional<api::Selector> labels;

  bool covers(const Pod& pod) const {
    return namespaces.allows(pod.metadata.namespace_) &&
           (!labels || labels->matches(pod.metadata.labels));
  }
  // withLabels: also reads the argument labelSelector.
  static PodScope read(Fields& args, bool withLabels = true);
};

// Reads a list of texts; each must be one of the known values.
std::vector<std::string> readChoices(Fields& args, std::string_view name,
                                     std::initializer_list<std::string_view> known);
// Returns true if a status of the list waits with one of these reasons, or has ended with one of
// them or of the exit codes.
bool anyReason(const api::List<api::ContainerStatus>& statuses,
               const std::vector<std::string>& reasons);
bool anyExitCode(const api::List<api::ContainerStatus>& statuses,
                 const std::vector<std::int64_t>& codes);
std::vector<std::int64_t> readExitCodes(Fields& args);
bool ownedByAny(const Pod& pod, const std::vector<std::string>& kinds);

class PluginBase : public Plugin {
 public:
  PluginBase(std::string_view name, Handle& handle) : name_(name), handle_(handle) {}
  std::string_view name() const override { return name_; }

 protected:
  Handle& handle() { return handle_; }
  bool isEvictable(const Pod& pod) { return handle_.evictor().filter(pod); }
  std::int64_t ageSeconds(const PodFacts& facts) const;
  // Evicts in this order; continues after failures.
  Task<void> evictAll(std::vector<PodPtr> pods);
  Task<bool> evictOne(PodPtr pod);

 private:
  std::string_view name_;
  Handle& handle_;
};

}  // namespace koord::descheduler
