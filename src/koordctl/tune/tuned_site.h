#pragma once

// The site of `koordctl tune`: a sample of a cluster's nodes with the pods that they have, and
// usage from a record. Without a record, usage at the time of the snapshot and an assumed day
// (`dailySwing`) stand for it.

#include <memory>
#include <string>
#include <vector>

#include "koordctl/tune/recorded_load.h"
#include "koordctl/tune/studied_cluster.h"

namespace koord::koordctl {

struct SiteOptions {
  std::size_t nodes = 10;  // of the sample
  std::uint64_t seed = 1;  // of the sample
  std::string usage;       // a file of usage_record.h; "" = none
};

struct TunedSite {
  colocation::Parameters parameters;
  Recording recording;
  colocation::Site site;
  std::vector<std::string> notes;  // what is assumed
};

// parameters: of the machine model and of jobs; what the cluster says about jobs replaces some of
// them. Errors: those of readUsage.
Result<std::unique_ptr<TunedSite>> makeSite(const StudiedCluster& state, const SiteOptions& options,
                                            const colocation::Parameters& parameters);

}  // namespace koord::koordctl
