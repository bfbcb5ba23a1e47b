#pragma once

// What happens to a call before it goes to the runtime and after the runtime has answered: hooks,
// and the memory of pods and containers.
//
//   before: the request and what is known of its pod or container make a question to the hook
//           servers; their answers change what is known, and that changes the request
//   after:  a success makes it known for later calls; then the hooks for what has happened
//
// An update is known to the other calls once its hooks have agreed and it is sent, since one that is
// sent later must not undo it; one that the runtime refused never happened.
//
// A request that makes no sense passes as it is: judging it is the runtime's part. A call of which
// pod or container nobody knows anything passes without hooks.

#include <optional>
#include <string>
#include <string_view>

#include "runtimeproxy/cri_method.h"
#include "runtimeproxy/dispatcher.h"
#include "runtimeproxy/runtime_view.h"
#include "runtimeproxy/skip_rule.h"
#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

// Of one call, from before to after.
struct Intercepted {
  explicit Intercepted(CriMethod calledMethod) : method(calledMethod) {}

  CriMethod method;
  std::string id;  // of the sandbox or container that the request names
  PodRecord pod;   // of RunPodSandbox and StopPodSandbox
  ContainerRecord container;
  runtimehook::ContainerResourceHookRequest began;  // container.own before this call
  PendingUpdate update;                             // of UpdateContainerResources
  bool known = false;                               // pod or container says something
  bool hooks = false;                               // known, and not a pod that wants none
};

struct Verdict {
  std::optional<std::string> refusal;  // why the call is not to reach the runtime
  std::optional<std::string> message;  // to send in place of the request; absent: as it is
};

class Interceptor {
 public:
  Interceptor(Dispatcher& dispatcher, RuntimeView& runtime, Store& store, SkipRule skip)
      : dispatcher_(dispatcher), runtime_(runtime), store_(store), skip_(std::move(skip)) {}

  // The call and the message outlive the task.
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
