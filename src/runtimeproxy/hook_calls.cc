#include "runtimeproxy/hook_calls.h"

#include "runtimeproxy/merge.h"

namespace koord::runtimeproxy {

Task<std::optional<std::string>> callPodHooks(Dispatcher& dispatcher, HookType type, PodRecord& pod,
                                              PodResources resources, SteadyTime deadline) {
  const Dispatcher::Exchange exchange{
      [&pod] { return pod.info.SerializeAsString(); },
      [&pod, resources](const std::string& bytes) {
        runtimehook::PodSandboxHookResponse answer;
        if (!answer.ParseFromString(bytes)) return false;
        merge(answer, pod.info);
        if (resources == PodResources::Changeable && answer.has_resources())
          mergeAnswer(answer.resources(), *pod.info.mutable_resources());
        return true;
      }};
  auto asking = dispatcher.dispatch(type, exchange, deadline);
  co_return co_await asking;
}

Task<std::optional<std::string>> callContainerHooks(Dispatcher& dispatcher, HookType type,
                                                    ContainerRecord& container,
                                                    SteadyTime deadline) {
  const Dispatcher::Exchange exchange{[&container] { return container.info().SerializeAsString(); },
                                      [&container](const std::string& bytes) {
                                        runtimehook::ContainerResourceHookResponse answer;
                                        if (!answer.ParseFromString(bytes)) return false;
                                        merge(answer, container.own);
                                        return true;
                                      }};
  auto asking = dispatcher.dispatch(type, exchange, deadline);
  co_return co_await asking;
}

}  // namespace koord::runtimeproxy
