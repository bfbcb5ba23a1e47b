#pragma once

// The metrics of koord-descheduler: upstream's counter of evictions, and metrics of the cycles.
// Controllers register their own families in registry(). On the component's executor.

#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"

namespace koord::descheduler {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // result: success or error; strategy: the plugin that requested it. Counted when a pod is
  // evicted, not when its job is created.
  void podEvicted(std::string_view result, std::string_view strategy, std::string_view namespace_,
                  std::string_view node);
  // limit: node, namespace or total.
  void limited(std::string_view limit);
  void cycleEnded(Duration took, bool ok);
  void setLeader(bool leading);
  // Nodes of a pool by class (low, high, prodLow, prodHigh, bothLow, appropriate, skipped).
  void setPoolNodes(std::string_view pool, std::string_view nodeClass, std::size_t count);

  prometheus::Registry& registry();
  std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace koord::descheduler
