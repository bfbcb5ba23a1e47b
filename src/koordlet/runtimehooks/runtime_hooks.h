#pragma once

// Starts both ways by which koordlet takes part in the creation of containers: behind
// koord-runtime-proxy (hook_service.h) and as an NRI plugin of the runtime (nri/connection.h). They
// may run at the same time, together with the reconciler: all yield the same values.

#include <memory>

#include "koordlet/runtimehooks/hook_service.h"
#include "koordlet/runtimehooks/nri/connection.h"

namespace koord::koordlet {

struct RuntimeHookOptions {
  HookServiceOptions service;
  nri::Options nri;
  HookRunner::Options runner;
};

class RuntimeHooks {
 public:
  RuntimeHooks(Executor& executor, const Host& host, const States& states, Reconciler& reconciler,
               ResourceExecutor& resources, RuntimeHookOptions options);
  ~RuntimeHooks();
  void start();

 private:
  Executor& executor_;
  RuntimeHookOptions options_;
  HookRunner runner_;
  HookService service_;
  nri::Plugin plugin_;
  std::unique_ptr<net::IoThread> nriThread_;
  std::unique_ptr<nri::Connection> nri_;  // on nriThread_
};

}  // namespace koord::koordlet
