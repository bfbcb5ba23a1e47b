#pragma once

// The settings of jemalloc in koord-scheduler. One thread does the work, and the memory of a burst
// of pods is returned to the system soon afterwards. Huge pages make page tables small, which a
// simulation copies when it forks (oracle/): with 150,000 pods a fork takes a tenth of the time.

namespace koord::scheduler {

inline constexpr const char* kMallocConf =
    "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0,thp:always,metadata_thp:always";

}  // namespace koord::scheduler
