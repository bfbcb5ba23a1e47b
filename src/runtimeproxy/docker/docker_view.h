#pragma once

// What Docker itself says of its containers: the store is filled from it at start, and asked again for a
// sandbox that was made while this process was not there. Also one request to Docker, on a connection of its own.

#include <string>

#include "base/json.h"
#include "base/task.h"
#include "net/rpc/io_loop.h"
#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

class DockerView {
 public:
  DockerView(net::IoLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  // "docker 20.10.24", with all pods and containers put into the store.
  Task<Result<std::string>> rebuild(Store& store);
  // NotFound: Docker does not know it; Invalid: not a sandbox of kubelet's.
  Task<Result<PodPtr>> pod(std::string id);
  // Whether Docker's cgroups are systemd's; known after rebuild().
  bool systemd() const { return systemd_; }

 private:
  // The document that a GET answers.
  Task<Result<json::value>> get(std::string path);
  Task<Result<>> learn(std::string id, Store& store);

  net::IoLoop& loop_;
  std::string socket_;
  bool systemd_ = false;
};

}  // namespace koord::runtimeproxy
