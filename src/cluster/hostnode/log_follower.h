#pragma once

// Reads the log of a container of the host node, and goes on reading while it grows.

#include <optional>
#include <string>

#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/host_node.h"

namespace koord::cluster {

class LogFollower {
 public:
  // The node has to outlive it. Errors are those of HostNode::logPath.
  static Result<LogFollower> open(Executor& executor, const HostNode& node, api::ObjectKey pod,
                                  std::string container, LogOptions options);

  // All that there is now of what is asked for.
  Result<std::string> first();
  // Waits a little for more, which may be nothing yet; no value at the end: the container is gone
  // or another run of it has begun, or limitBytes are reached.
  Task<std::optional<std::string>> next();

 private:
  LogFollower(Executor& executor, const HostNode& node, api::ObjectKey pod, std::string container,
              std::string path, LogOptions options)
      : executor_(&executor),
        node_(&node),
        pod_(std::move(pod)),
        container_(std::move(container)),
        path_(std::move(path)),
        options_(std::move(options)) {}

  std::string select(std::string_view log);

  Executor* executor_;
  const HostNode* node_;
  api::ObjectKey pod_;
  std::string container_;
  std::string path_;
  LogOptions options_;
  std::int64_t offset_ = 0;
};

}  // namespace koord::cluster
