#pragma once

// Amounts of those resources that load is measured in, by position in a fixed list of names.

#include <boost/container/small_vector.hpp>
#include <string>
#include <vector>

#include "api/meta.h"
#include "scheduler/plugins/loadawarescheduling/args.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

namespace koord::scheduler {

// cpu in millicores, everything else in its own unit. Usually cpu and memory only.
using LoadAmounts = boost::container::small_vector<std::int64_t, 2>;

// The upper limit of an amount, so that the loads of thousands of pods can be added and compared in
// percent. 1 PiB, or 10^12 cores.
inline constexpr std::int64_t kMaxLoad = std::int64_t{1} << 50;

class LoadResources {
 public:
  // cpu, memory and the resources that the arguments name; sorted.
  explicit LoadResources(const LoadAwareSchedulingArgs& args);

  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t i) const { return names_[i]; }
  const std::vector<std::string>& names() const { return names_; }
  LoadAmounts none() const { return LoadAmounts(size(), 0); }
  // Other names are skipped; negative amounts count as 0.
  LoadAmounts of(const api::ResourceList& list) const;
  LoadAmounts of(const LoadAwareSchedulingArgs::ByResource& numbers) const;
  LoadAmounts of(const LoadReport::PodUsage& usage) const;
  // Quantities by name, for operators and the HTTP service.
  json::object toJson(const LoadAmounts& amounts) const;

 private:
  std::vector<std::string> names_;
  std::size_t cpu_ = 0;  // their positions
  std::size_t memory_ = 0;
};

// In millicores for cpu; from 0 to kMaxLoad.
std::int64_t loadAmount(std::string_view resource, const Quantity& quantity);

bool hasNoLoad(const LoadAmounts& amounts);
void addLoad(LoadAmounts& sum, const LoadAmounts& amounts, int sign = 1);

}  // namespace koord::scheduler
