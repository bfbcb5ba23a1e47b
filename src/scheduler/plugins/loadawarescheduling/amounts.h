#pragma once

// Amounts of those resources that load is measured in, by position in a fixed list of names.

#include <boost/container/small_vector.hpp>
#include <string>
#include <vector>

#include "api/meta.h"
#include "scheduler/plugins/loadawarescheduling/args.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

namespace koord::scheduler {

// cpu in thousandths of a core, everything else in its own unit. Nearly always cpu and memory.
using LoadAmounts = boost::container::small_vector<std::int64_t, 2>;

// What is beyond counts as this much, so that the loads of thousands of pods can be added up and
// compared in percent. 1 PiB, or a million million cores.
inline constexpr std::int64_t kMostLoad = std::int64_t{1} << 50;

class LoadResources {
 public:
  // cpu and memory, and what the arguments name; sorted.
  explicit LoadResources(const LoadAwareSchedulingArgs& args);

  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t i) const { return names_[i]; }
  const std::vector<std::string>& names() const { return names_; }
  LoadAmounts none() const { return LoadAmounts(size(), 0); }
  // Names that are not in the list are ignored; what is negative counts as nothing.
  LoadAmounts of(const api::ResourceList& list) const;
  LoadAmounts of(const LoadAwareSchedulingArgs::ByResource& numbers) const;
  LoadAmounts of(const LoadReport::PodUsage& usage) const;
  // For people and the HTTP service: quantities, by name.
  json::object toJson(const LoadAmounts& amounts) const;

 private:
  std::vector<std::string> names_;
  std::size_t cpu_ = 0;  // their positions
  std::size_t memory_ = 0;
};

// In thousandths for cpu; from 0 to kMostLoad.
std::int64_t loadAmount(std::string_view resource, const Quantity& quantity);

bool isNothing(const LoadAmounts& amounts);
void addLoad(LoadAmounts& sum, const LoadAmounts& amounts, int sign = 1);

}  // namespace koord::scheduler
