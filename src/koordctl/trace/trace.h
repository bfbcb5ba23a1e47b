#pragma once

// Trace: the nodes of a cluster and the tasks that arrived there, from CSV files, to replay on the
// real scheduler (trace_cluster.h).
//
// The first line of a file names the columns; their order is free and other columns are ignored.
// Two formats are read, told apart by the names.
//
//   Published GPU traces (Alibaba, gpu2023):
//     nodes   sn, cpu_milli, memory_mib, gpu, model
//     tasks   name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec (models, A|B), qos,
//             creation_time, scheduled_time, deletion_time (seconds)
//   Own format, with quantities as in Kubernetes:
//     nodes   name, cpu, memory, gpus, gpu_model
//     tasks   name, cpu, memory, gpus, gpu_percent (of each), gpu_models (A|B), qos, priority,
//             arrival, duration (seconds; duration may be empty: until the end)
//
// Only name (sn), cpu and memory are required. An error names the file, the line and the column.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::koordctl {

inline constexpr std::int64_t kBytesOfMib = 1 << 20;

struct TraceNode {
  std::string name;
  std::int64_t cpu = 0;     // milli-CPUs
  std::int64_t memory = 0;  // MiB
  std::int64_t gpus = 0;
  std::string model;
};

struct TraceTask {
  std::string name;
  std::int64_t cpu = 0;     // milli-CPUs
  std::int64_t memory = 0;  // MiB
  std::int64_t gpus = 0;
  std::int64_t share = 1000;        // of each GPU, in thousandths
  std::vector<std::string> models;  // that it may run on; empty: any
  std::string qos;                  // LS, BE, ...; may be empty
  std::int64_t priority = 0;
  std::int64_t arrival = 0;              // seconds
  std::optional<std::int64_t> duration;  // seconds that it runs; absent: until the end

  std::int64_t gpuMilli() const { return gpus * share; }
};

// `file` is for messages.
Result<std::vector<TraceNode>> parseTraceNodes(std::string_view text, std::string_view file);
Result<std::vector<TraceTask>> parseTraceTasks(std::string_view text, std::string_view file);

Result<std::vector<TraceNode>> readTraceNodes(const std::string& path);
Result<std::vector<TraceTask>> readTraceTasks(const std::string& path);

}  // namespace koord::koordctl
