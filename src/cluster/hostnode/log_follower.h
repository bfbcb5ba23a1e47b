#pragma once

// Reads the log of a container of the host node piece by piece, and goes on reading while it grows,
// also into the next file when it has been put aside (log_files.h). What was put aside before is not
// read.
//
// A piece is at most about one MiB, and between two of them others have their turn: a log of any
// size may be read by a reader of any speed.

#include <optional>
#include <string>

#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/host_node.h"
#include "cluster/hostnode/mounts/safe_path.h"

namespace koord::cluster {

class LogFollower {
 public:
  // The node has to outlive it. Errors are those of HostNode::logPath, or that the log cannot be
  // read.
  static Result<LogFollower> open(Executor& executor, const HostNode& node, api::ObjectKey pod,
                                  std::string container, LogOptions options);

  // The next piece, which may be empty; no value at the end: of what there was at the beginning, or
  // if it is followed, when the container is gone or another run of it has begun. And when
  // limitBytes are reached.
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
  // Looks for the beginning of the last lines; false when there is more to look at.
  bool seekTail();
  // From the offset on, which moves: whole lines, or with `rest` also one that has not ended.
  std::string read(bool rest);
  // Whether the container will write no more into this log.
  bool isOver() const;
  // How often the file that is open was put aside; absent when it is gone.
  std::optional<int> age() const;
  // Goes on to the file that was begun after this one.
  bool advance();

  Executor* executor_;
  const HostNode* node_;
  api::ObjectKey pod_;
  std::string container_;
  std::string path_;
  bool follow_;
  std::optional<std::int64_t> tailLines_;  // until they have been found
  LogSelector selector_;
  Fd file_;
  std::int64_t offset_ = 0;
  std::int64_t end_ = 0;  // of a log that is not followed, or of the search for the last lines
  bool begun_ = false;
};

}  // namespace koord::cluster
