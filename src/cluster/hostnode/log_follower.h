#pragma once

// Reads the log of a container of the host node piece by piece, follows it while it grows, and
// continues with the next file after a rotation (log_files.h). Files that were rotated earlier are
// not read.
//
// A piece is at most about one MiB, and other tasks run between two pieces: logs of any size and
// readers of any speed are possible.

#include <optional>
#include <string>

#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

class LogFollower {
 public:
  // The node must outlive it. Errors are those of HostNode::logPath, or that the log cannot be
  // read.
  static Result<LogFollower> open(Executor& executor, const HostNode& node, api::ObjectKey pod,
                                  std::string container, LogOptions options);

  // The next piece, which may be empty; nullopt at the end: at the initial end of the log or, if it
  // is followed, when the container is gone or has been restarted. Also when limitBytes is reached.
  Task<std::optional<std::string>> next();

 private:
  LogFollower(Executor& executor, const HostNode& node, api::ObjectKey pod, std::string container,
              std::string path, const LogOptions& options)
      : executor_(&executor),
        node_(&node),
        pod_(std::move(pod)),
        container_(std::move(container)),
        path_(std::move(path)),
        follow_(options.follow),
        tailLines_(options.tailLines),
        selector_(options) {}

  Result<> openLog();
  // Searches for the beginning of the last lines; returns false if the search must continue.
  bool seekTail();
  // Reads from the offset and advances it: whole lines, or with `rest` also an unfinished line.
  std::string read(bool rest);
  // Returns true if the container will not write to this log again.
  bool isOver() const;
  // How often the open file was rotated; nullopt if it was deleted.
  std::optional<int> age() const;
  // Continues with the file after this one.
  bool advance();

  Executor* executor_;
  const HostNode* node_;
  api::ObjectKey pod_;
  std::string container_;
  std::string path_;
  bool follow_;
  std::optional<std::int64_t> tailLines_;  // until they are found
  LogSelector selector_;
  Fd file_;
  std::int64_t offset_ = 0;
  std::int64_t end_ = 0;  // end of a log that is not followed, or of the search
  bool begun_ = false;
};

}  // namespace koord::cluster
