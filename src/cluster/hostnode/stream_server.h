#pragma once

// kubectl exec, attach and port-forward for pods of the host node: joins the client's streams with
// a command in a container, with the container itself, or with a port of this host, whose network
// all pods share. The caller has checked permissions. On the host node's executor.

#include <memory>
#include <string>

#include "cluster/hostnode/host_node.h"
#include "cluster/streaming/remote_command.h"
#include "cluster/streaming/stream_io.h"
#include "net/http_server.h"
#include "net/url.h"

namespace koord::cluster {

class StreamServer {
 public:
  // The node and its runtime must outlive it.
  StreamServer(Executor& executor, Runtime& runtime, const HostNode& node)
      : executor_(executor), runtime_(runtime), node_(node), io_(executor) {}

  // Answers a request for pods/NAME/exec.
  void exec(api::ObjectKey pod, std::string container, net::ServerRequest request,
            std::shared_ptr<net::Responder> responder);
  // Answers a request for pods/NAME/attach.
  void attach(api::ObjectKey pod, std::string container, net::ServerRequest request,
              std::shared_ptr<net::Responder> responder);
  // Answers a request for pods/NAME/portforward.
  void portForward(api::ObjectKey pod, net::ServerRequest request,
                   std::shared_ptr<net::Responder> responder);

 private:
  // command: empty to attach to the container itself.
  static Task<void> serve(StreamServer* self, std::string id, std::vector<std::string> command,
                          net::ServerRequest request, std::shared_ptr<net::Responder> responder);

  Executor& executor_;
  Runtime& runtime_;
  const HostNode& node_;
  StreamIo io_;
  TaskGroup tasks_;
};

// Answers before the upgrade: a Status, which kubectl prints.
void refuseStream(net::Responder& responder, const Error& error);
// Status 501, NotImplemented: says what is not there, and what to do instead.
void answerNotImplemented(net::Responder& responder, std::string whatToDo);

}  // namespace koord::cluster
