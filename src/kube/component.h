#pragma once

// The common part of every component's main(): logging, signals, the event loop, the connection to
// the API server and leader election.
//
//   int main(...) {
//     kube::ComponentOptions options{.name = "koord-manager"};
//     kube::CommandLine line(...); ... options.client.kubeconfig ...   // command_line.h
//     return kube::runComponent(options, [&](kube::Component& c) ->
//     Result<std::unique_ptr<kube::Running>> {
//       return std::make_unique<Manager>(c.api(), c.executor(), ...);
//     });
//   }

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log_output.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/api.h"
#include "kube/content_types.h"
#include "kube/kubeconfig.h"
#include "kube/leader_election.h"

namespace koord::net {
class HttpClient;
}

namespace koord::kube {

struct ComponentOptions {
  std::string name;
  std::string version;
  std::string userAgent;  // of requests; empty: name/version
  ConfigSource client;
  double qps = 0;
  int burst = 0;
  ContentTypes contentTypes;  // of requests and answers; protobuf, as all of upstream's programs
  int verbosity = 0;
  std::string logFormat = "text";  // --logging-format: text or json
  log::Output logOutput;
  std::vector<std::string> notes;  // warnings for the log at start
};

// A running component. Lives on the component's executor; destroying it stops it at once.
class Running {
 public:
  virtual ~Running() = default;
  // Called once on SIGTERM: shut down gracefully (release the lease), then call done.
  virtual void stop(Callback done) { done(); }
};

class Component {
 public:
  virtual ~Component() = default;
  virtual Executor& executor() = 0;
  virtual Api& api() = 0;
  virtual net::HttpClient& http() = 0;
  // Address and credentials for the API server.
  virtual const ClientConfig& config() {
    static const ClientConfig kNone;
    return kNone;
  }
  virtual Random& random() = 0;
  // Metrics of the API client. The component serves their text() and passes them to its queues and
  // elections.
  virtual const std::shared_ptr<Metrics>& metrics() = 0;
  // Ends the process with this status after the current callback, e.g. when the lease is lost.
  virtual void exit(int status) = 0;
};

// Runs until a signal or exit(); returns the status for main(). `start` runs on the component's
// executor; its error is printed ("koord-manager: ...") and ends the process with status 1. A stop
// that takes longer than ten seconds is cut short; a second signal ends the process at once.
int runComponent(const ComponentOptions& options,
                 std::function<Result<std::unique_ptr<Running>>(Component&)> start);

}  // namespace koord::kube
