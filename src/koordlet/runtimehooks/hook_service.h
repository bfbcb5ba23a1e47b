#pragma once

// runtime.v1alpha1.RuntimeHookService, by which koord-runtime-proxy asks koordlet, on a unix socket,
// and the file that tells the proxy about it.
//
// The socket is served by a thread of its own; each question is answered on koordlet's. An answer
// repeats what was asked with the hooks' values in it, as the proxy expects of a hook server.

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

// The answer to one call: by the name of the method, "PreRunPodSandboxHook". On koordlet's thread.
net::GrpcReply answerHook(HookRunner& runner, std::string_view method, const std::string& message);

// The file for the proxy, tab-indented JSON as upstream's.
std::string hookServerConfig(const HookServiceOptions& options);

class HookService {
 public:
  HookService(Executor& executor, HookRunner& runner, HookServiceOptions options);
  ~HookService();
  // Listens and writes the file; what cannot be done is logged and tried again.
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
