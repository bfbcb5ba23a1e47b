#pragma once

// Reads containers from Docker: fills the store at start, and finds a sandbox that was created
// while this process did not run. Each request uses a connection of its own.

#include <string>

#include "base/json.h"
#include "base/task.h"
#include "net/rpc/io_loop.h"
#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

class DockerView {
 public:
  DockerView(net::IoLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  // Puts all pods and containers into the store. Returns the version: "docker 20.10.24".
  Task<Result<std::string>> rebuild(Store& store);
  // NotFound: Docker does not know it; Invalid: not a sandbox of kubelet's.
  Task<Result<PodPtr>> pod(std::string id);
  // True if Docker uses the systemd cgroup driver. Valid after rebuild().
  bool systemd() const { return systemd_; }

 private:
  // The JSON document at a path.
  Task<Result<json::value>> get(std::string path);
  Task<Result<>> learn(std::string id, Store& store);

  net::IoLoop& loop_;
  std::string socket_;
  bool systemd_ = false;
};

}  // namespace koord::runtimeproxy
