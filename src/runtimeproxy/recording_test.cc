// Replays recorded calls of kubelet to containerd (tests/data/cri) through the proxy.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <fstream>

#include "base/base64.h"
#include "runtime_hook.pb.h"
#include "runtimeproxy/proxy_testing.h"

namespace koord::runtimeproxy {
namespace {

struct RecordedCall {
  std::string method;
  int status = 0;
  std::string request;
  std::string answer;  // or the error's message
};

std::vector<RecordedCall> recordedCalls(const std::string& name) {
  std::ifstream file(std::string(KOORD_CRI_RECORDINGS) + "/" + name);
  std::vector<RecordedCall> calls;
  std::string request, answer;
  for (RecordedCall call; file >> call.method >> call.status; calls.push_back(call)) {
    std::getline(file, request);  // the end of the first line
    std::getline(file, request);
    std::getline(file, answer);
    call.request = base64Decode(request).value();
    call.answer = base64Decode(answer).value();
  }
  return calls;
}

// Serializes the message independently of the order of maps.
template <class Message>
std::string inOrder(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  EXPECT_TRUE(message.SerializeToCodedStream(&coded));
  coded.Trim();
  return text;
}

std::string inOrder(const std::string& method, const std::string& bytes) {
  if (method == criPath("RunPodSandbox")) return inOrder<cri::RunPodSandboxRequest>(bytes);
  if (method == criPath("CreateContainer")) return inOrder<cri::CreateContainerRequest>(bytes);
  if (method == criPath("UpdateContainerResources"))
    return inOrder<cri::UpdateContainerResourcesRequest>(bytes);
  return bytes;
}

class RecordingTest : public ProxyTest {
 protected:
  // Replays the calls one after the other. `same` compares the output with the input.
  void play(const std::function<bool(const RecordedCall&, const std::string& arrived)>& same) {
    const auto calls = recordedCalls("kubelet-1.36-containerd-1.6.txt");
    ASSERT_GT(calls.size(), 80u);
    start();
    for (const auto& call : calls) {
      bool came = false;
      const std::string name = call.method.substr(call.method.rfind('/') + 1);
      runtime_->answers[name] = [&](const net::GrpcRequest& arrived) -> net::GrpcReply {
        if (arrived.method != call.method || !same(call, arrived.message))
          return refused(net::GrpcCode::NotFound, "a question of the proxy's own");
        came = true;
        if (call.status == 0) return call.answer;
        return refused(static_cast<net::GrpcCode>(call.status), call.answer);
      };
      const auto reply = ask(call.method, call.request);
      runtime_->answers.erase(name);
      ASSERT_TRUE(came) << call.method << " reached the runtime as something else";
      ASSERT_EQ(reply.has_value(), call.status == 0) << call.method;
      EXPECT_TRUE((reply ? *reply : reply.error().message) == call.answer) << call.method;
      if (!reply) {
        EXPECT_EQ(static_cast<int>(reply.error().code), call.status) << call.method;
      }
    }
  }
};

TEST_F(RecordingTest, WithoutHookServersEveryByteArrives) {
  play(
      [](const RecordedCall& call, const std::string& arrived) { return arrived == call.request; });
}

TEST_F(RecordingTest, HookServersThatChangeNothingChangeNothing) {
  int asked = 0;
  const auto server = hookServer(
      "k", "Fail",
      R"("PreRunPodSandbox","PostStopPodSandbox","PreCreateContainer","PreStartContainer",
         "PostStartContainer","PreUpdateContainerResources","PostStopContainer")",
      [&](const std::string& method, const std::string& message) -> net::GrpcReply {
        ++asked;
        if (method.find("Sandbox") != method.npos) {
          runtimehook::PodSandboxHookRequest request;
          EXPECT_TRUE(request.ParseFromString(message));
          EXPECT_FALSE(request.pod_meta().uid().empty()) << method;
          return std::string();
        }
        runtimehook::ContainerResourceHookRequest request;
        EXPECT_TRUE(request.ParseFromString(message));
        EXPECT_FALSE(request.pod_meta().uid().empty()) << method;
        EXPECT_FALSE(request.container_meta().name().empty()) << method;
        runtimehook::ContainerResourceHookResponse response;
        *response.mutable_container_annotations() = request.container_annotations();
        *response.mutable_container_resources() = request.container_resources();
        response.set_pod_cgroup_parent(request.pod_cgroup_parent());
        *response.mutable_container_envs() = request.container_envs();
        return response.SerializeAsString();
      });
  play([](const RecordedCall& call, const std::string& arrived) {
    return inOrder(call.method, arrived) == inOrder(call.method, call.request);
  });
  EXPECT_GT(asked, 20);
}

}  // namespace
}  // namespace koord::runtimeproxy
