#include "koordlet/runtimehooks/runtime_hooks.h"

#include "base/log.h"

namespace koord::koordlet {

RuntimeHooks::RuntimeHooks(Executor& executor, const Host& host, const States& states,
                           Reconciler& reconciler, ResourceExecutor& resources,
                           RuntimeHookOptions options)
    : executor_(executor),
      options_(std::move(options)),
      runner_(executor, host, states, reconciler, resources, options_.runner),
      service_(executor, runner_, options_.service),
      plugin_(runner_, options_.service.disabledStages) {}

RuntimeHooks::~RuntimeHooks() {
  if (nriThread_) nriThread_->runSync([this] { nri_.reset(); });
}

void RuntimeHooks::start() {
  service_.start();
  if (!options_.nri.enabled) return;
  if (const auto good = nri::check(options_.nri); !good)
    return log::error("NRI is off: {}", good.error().message);
  nriThread_ = std::make_unique<net::IoThread>("nri");
  nriThread_->runSync([this] {
    nri_ = std::make_unique<nri::Connection>(nriThread_->loop(), executor_, plugin_, options_.nri);
    nri_->start();
  });
}

}  // namespace koord::koordlet
