#pragma once

// The socket DATA/control.sock, by which other commands of koordctl reach a running 'koordctl up'.
// Only its user and root may connect.
//
//   GET  /status   what runs, as JSON: see ClusterUp::controlStatus
//   POST /pause    nothing of the cluster runs or changes until /resume; answers when that is so
//   POST /resume
//   POST /copy     a copy of the objects, as a database in the data folder: {"file": PATH}; the
//                  client deletes it
//   POST /stop     as SIGTERM; answers at once
//
// Failures are a status from 400 on and {"message": ...}.

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/task.h"
#include "net/http_server.h"

namespace koord::cluster {

struct ControlActions {
  std::function<json::value()> status;
  std::function<Task<Result<>>()> pause;
  std::function<Task<Result<>>()> resume;
  std::function<Task<Result<std::string>>()> copy;
  std::function<void()> stop;
};

// On one executor's thread, which must be thread-safe.
class ControlServer {
 public:
  static Result<std::unique_ptr<ControlServer>> start(Executor& executor,
                                                      const std::string& dataDir,
                                                      ControlActions actions);
  // Takes no more requests; running ones have until the grace period ends.
  Task<void> shutdown(Duration grace) { return http_->shutdown(grace); }

 private:
  explicit ControlServer(ControlActions actions) : actions_(std::move(actions)) {}
  void handle(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);

  ControlActions actions_;
  TaskGroup tasks_;
  std::unique_ptr<net::HttpServer> http_;
};

// Asks the 'koordctl up' on that data folder, and blocks the thread until the answer. NotFound if
// none runs there.
Result<json::value> askCluster(const std::string& dataDir, const std::string& method,
                               const std::string& path);

}  // namespace koord::cluster
