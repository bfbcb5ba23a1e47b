// Asks a container runtime, or a proxy before it, over CRI: a few calls for the integration tests.
//
//   cri_client SOCKET version
//   cri_client SOCKET containers                  id, sandbox and name of each
//   cri_client SOCKET update ID QUOTA CPUSET      UpdateContainerResources
//   cri_client SOCKET exec ID COMMAND...          ExecSync; its output
//   cri_client SOCKET images                      how many bytes ListImages answers
//   cri_client SOCKET calls COUNT                 how many Version calls went wrong

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

#include "net/rpc/grpc_channel.h"
#include "runtime_cri.pb.h"

namespace koord {
namespace {

using Arguments = std::vector<std::string>;

// Field `number`, a text.
std::string textField(int number, const std::string& text) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  for (std::size_t rest = text.size();;) {
    out += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    if ((rest >>= 7) == 0) break;
  }
  return out + text;
}

class Client {
 public:
  explicit Client(const std::string& socket) : channel_(loop_, socket) {}

  std::string ask(const std::string& method, const std::string& message) {
    auto reply = tryAsk(method, message);
    if (reply) return *std::move(reply);
    fmt::print(stderr, "{}: {}\n", method, reply.error().text());
    std::exit(1);
  }
  net::GrpcReply tryAsk(const std::string& method, const std::string& message) {
    std::optional<net::GrpcReply> reply;
    TaskGroup tasks;
    tasks.spawn(store(channel_.call(method, message, std::chrono::seconds(30)), &reply, &loop_));
    loop_.run();
    return *std::move(reply);
  }

 private:
  static Task<void> store(Future<net::GrpcReply> future, std::optional<net::GrpcReply>* into,
                          net::IoLoop* loop) {
    auto reply = co_await future;
    *into = std::move(reply);
    loop->stop();
  }

  net::IoLoop loop_;
  net::GrpcChannel channel_;
};

std::string runtimeCall(const char* method) {
  return std::string("/runtime.v1.RuntimeService/") + method;
}

void containers(Client& client) {
  cri::ListContainersResponse list;
  list.ParseFromString(client.ask(runtimeCall("ListContainers"), ""));
  for (const auto& item : list.containers())
    fmt::print("{} {} {}\n", item.id(), item.pod_sandbox_id(), item.metadata().name());
}

void update(Client& client, const Arguments& arguments) {
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(arguments.at(0));
  request.mutable_linux()->set_cpu_period(100'000);
  request.mutable_linux()->set_cpu_quota(std::atoll(arguments.at(1).c_str()));
  request.mutable_linux()->set_cpuset_cpus(arguments.at(2));
  client.ask(runtimeCall("UpdateContainerResources"), request.SerializeAsString());
}

void exec(Client& client, const Arguments& arguments) {
  std::string request = textField(1, arguments.at(0));
  for (std::size_t i = 1; i < arguments.size(); ++i) request += textField(2, arguments[i]);
  // Its standard output is field 1, as a container's id is.
  cri::ContainerId response;
  response.ParseFromString(client.ask(runtimeCall("ExecSync"), request));
  fmt::print("{}", response.container_id());
}

void calls(Client& client, int count) {
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    if (!client.tryAsk(runtimeCall("Version"), "")) ++wrong;
  fmt::print("{}\n", wrong);
}

int run(const Arguments& arguments) {
  if (arguments.size() < 2) {
    fmt::print(stderr,
               "usage: cri_client SOCKET version|containers|update|exec|images|calls ...\n");
    return 2;
  }
  Client client(arguments[0]);
  const std::string& command = arguments[1];
  const Arguments rest(arguments.begin() + 2, arguments.end());
  if (command == "containers") containers(client);
  if (command == "update") update(client, rest);
  if (command == "exec") exec(client, rest);
  if (command == "calls") calls(client, std::atoi(rest.at(0).c_str()));
  if (command == "images")
    fmt::print("{}\n", client.ask("/runtime.v1.ImageService/ListImages", "").size());
  if (command == "version") {
    cri::VersionResponse version;
    version.ParseFromString(client.ask(runtimeCall("Version"), ""));
    fmt::print("{} {}\n", version.runtime_name(), version.runtime_version());
  }
  return 0;
}

}  // namespace
}  // namespace koord

int main(int argc, char** argv) {
  return koord::run({argv + 1, argv + argc});
}
