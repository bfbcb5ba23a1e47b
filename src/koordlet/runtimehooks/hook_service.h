#pragma once

// Serves runtime.v1alpha1.RuntimeHookService, which koord-runtime-proxy calls, on a unix socket,
// and writes the proxy's configuration file for it.
//
// A separate thread serves the socket; each call is answered on koordlet's thread. A reply repeats
// the request with the hooks' values in it, as the proxy expects of a hook server.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/task.h"
#include "koordlet/runtimehooks/hook_runner.h"
#include "net/rpc/grpc_server.h"

namespace koord::koordlet {

struct HookServiceOptions {
  std::string socket = "/host-var-run-koordlet/koordlet.sock";   // "" = not served
  std::string hostEndpoint = "/var/run/koordlet/koordlet.sock";  // the same, as the proxy sees it
  std::string configFolder = "/host-etc-hookserver/";            // of the proxy's configuration
  std::string failurePolicy = "Ignore";                          // of the proxy
  std::set<std::string> disabledStages;                          // "PreRunPodSandbox"
};

// Returns the reply to one call of a method, "PreRunPodSandboxHook". Call on koordlet's thread.
net::GrpcReply answerHook(HookRunner& runner, std::string_view method, const std::string& message);

// The proxy's configuration file, tab-indented JSON like upstream's.
std::string hookServerConfig(const HookServiceOptions& options);

class HookService {
 public:
  HookService(Executor& executor, HookRunner& runner, HookServiceOptions options);
  ~HookService();
  // Listens and writes the file. Failures are logged and retried.
  void start();

 private:
  Task<void> serve();
  Result<> listen();

  Executor& executor_;
  HookRunner& runner_;
  HookServiceOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<net::IoThread> thread_;
  std::unique_ptr<net::GrpcServer> server_;  // on thread_
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
