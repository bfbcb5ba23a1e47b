#pragma once

// The interceptor of the Docker Engine API, as interceptor.h is that of CRI: the hooks before and
// after five requests, and the records of pods and containers. Containers that are not kubelet's
// and invalid requests pass unchanged.

#include <optional>
#include <string>

#include "runtimeproxy/dispatcher.h"
#include "runtimeproxy/docker/docker_api.h"
#include "runtimeproxy/docker/docker_view.h"
#include "runtimeproxy/interceptor.h"
#include "runtimeproxy/skip_rule.h"

namespace koord::runtimeproxy {

// The state of one request, from before() to after().
struct DockerCall {
  explicit DockerCall(DockerTarget wanted) : target(std::move(wanted)) {}

  DockerTarget target;
  bool ofPod = false;  // a sandbox
  PodRecord pod;
  ContainerRecord container;
  runtimehook::ContainerResourceHookRequest began;  // container.own before this call
  PendingUpdate update;                             // of an update
  bool known = false;                               // a record of the pod or container exists
  bool hooks = false;                               // known, and the skip rule does not match
};

class DockerInterceptor {
 public:
  DockerInterceptor(Dispatcher& dispatcher, DockerView& docker, Store& store, SkipRule skip)
      : dispatcher_(dispatcher), docker_(docker), store_(store), skip_(std::move(skip)) {}

  // The call and the body must outlive the task.
  Task<Verdict> before(DockerCall& call, std::string_view body, SteadyTime deadline);
  Task<void> after(DockerCall& call, int status, std::string_view answer, SteadyTime deadline);

 private:
  Task<Verdict> create(DockerCall& call, std::string_view body, SteadyTime deadline);
  Task<std::optional<std::string>> runPod(DockerCall& call, json::object& body,
                                          SteadyTime deadline);
  Task<std::optional<std::string>> createContainer(DockerCall& call, json::object& body,
                                                   SteadyTime deadline);
  Task<Verdict> update(DockerCall& call, std::string_view body, SteadyTime deadline);
  void find(DockerCall& call) const;
  void forget(const DockerCall& call);
  void setCgroupParent(const std::string& before, const std::string& now, json::object& body) const;

  Dispatcher& dispatcher_;
  DockerView& docker_;
  Store& store_;
  SkipRule skip_;
};

}  // namespace koord::runtimeproxy
