#pragma once

// Handles a call before it is sent to the runtime and after the runtime has answered: hooks, and
// the records of pods and containers.
//
//   before: the request and the record of its pod or container form the request to the hook
//           servers; their answers change the record, and that changes the request
//   after:  a success updates the record for later calls; then the post hooks are called
//
// Other calls see an update as soon as its hooks have agreed and it is sent, because a later update
// must not undo it. An update that the runtime refuses is reverted.
//
// An invalid request passes unchanged, because the runtime validates it. A call for an unknown pod
// or container passes without hooks.

#include <optional>
#include <string>
#include <string_view>

#include "runtimeproxy/cri_method.h"
#include "runtimeproxy/dispatcher.h"
#include "runtimeproxy/runtime_view.h"
#include "runtimeproxy/skip_rule.h"
#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

// The state of one call, from before() to after().
struct Intercepted {
  explicit Intercepted(CriMethod calledMethod) : method(calledMethod) {}

  CriMethod method;
  std::string id;  // of the sandbox or container that the request names
  PodRecord pod;   // of RunPodSandbox and StopPodSandbox
  ContainerRecord container;
  runtimehook::ContainerResourceHookRequest began;  // container.own before this call
  PendingUpdate update;                             // of UpdateContainerResources
  bool known = false;                               // a record of the pod or container exists
  bool hooks = false;                               // known, and the skip rule does not match
};

struct Verdict {
  std::optional<std::string> refusal;  // why the call must not reach the runtime
  std::optional<std::string> message;  // to send instead of the request; nullopt: send it unchanged
};

class Interceptor {
 public:
  Interceptor(Dispatcher& dispatcher, RuntimeView& runtime, Store& store, SkipRule skip)
      : dispatcher_(dispatcher), runtime_(runtime), store_(store), skip_(std::move(skip)) {}

  // The call and the message must outlive the task.
  Task<Verdict> before(Intercepted& call, std::string_view message, SteadyTime deadline);
  Task<void> after(Intercepted& call, const net::GrpcReply& reply, SteadyTime deadline);

 private:
  Task<Verdict> runPod(Intercepted& call, std::string_view message, SteadyTime deadline);
  Task<Verdict> createContainer(Intercepted& call, std::string_view message, SteadyTime deadline);
  Task<Verdict> updateContainer(Intercepted& call, std::string_view message, SteadyTime deadline);
  Task<Verdict> startContainer(Intercepted& call, SteadyTime deadline);
  Task<void> findPod(Intercepted& call, std::string id);
  Task<void> findContainer(Intercepted& call);
  void remember(Intercepted& call, const std::string& reply);
  void forget(const Intercepted& call);

  Dispatcher& dispatcher_;
  RuntimeView& runtime_;
  Store& store_;
  SkipRule skip_;
};

}  // namespace koord::runtimeproxy
