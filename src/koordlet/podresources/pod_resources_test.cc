#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "api/protobuf/wire.h"
#include "base/event_loop.h"
#include "koordlet/podresources/allocated_devices.h"
#include "koordlet/podresources/pod_resources_proxy.h"
#include "koordlet/testing/temp_tree.h"
#include "pod_resources.pb.h"

namespace koord::koordlet {
namespace {

namespace wire = api::wire;
using testing::ElementsAre;
using testing::IsEmpty;

std::string field(std::uint32_t number, std::string_view bytes) {
  std::string message;
  wire::putBytes(message, number, bytes);
  return message;
}

// A pod of two containers, the first of which has a device of a plugin.
std::string podMessage(const std::string& name) {
  const std::string plugin = field(1, "vendor.com/nic") + field(2, "eth7");
  std::string cpus;
  wire::putNumber(cpus, 3, 5);
  return field(1, name) + field(2, "shop") + field(3, field(1, "main") + field(2, plugin) + cpus) +
         field(3, field(1, "side"));
}

// The message with its fields in the order in which koordlet writes them.
std::string inOrder(const std::string& message) {
  podresources::ListPodResourcesResponse response;
  EXPECT_TRUE(response.ParseFromString(message));
  return response.SerializeAsString();
}

PodView podGiven(const std::string& name, const std::string& allocated) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = pod->metadata.uid = name;
  pod->metadata.namespace_ = "shop";
  if (!allocated.empty())
    pod->metadata.annotations["scheduling.koordinator.sh/device-allocated"] = allocated;
  return viewOf(pod, CgroupDriver::Cgroupfs);
}

constexpr const char* kAllocated =
    R"({"gpu":[{"minor":0,"id":"GPU-a"},{"minor":1,"id":"GPU-b"}],
        "rdma":[{"id":"0000:01:00.0","extension":{"vfs":[{"busID":"0000:01:00.3"}]}}]})";

TEST(AllocatedDevices, AreNamedByTheirIdsOrTheirVirtualFunctions) {
  EXPECT_THAT(devicesAllocatedTo(podGiven("web", kAllocated)),
              ElementsAre(ResourceDevices{"nvidia.com/gpu", {"GPU-a", "GPU-b"}},
                          ResourceDevices{"koordinator.sh/rdma", {"0000:01:00.3"}}));
  EXPECT_THAT(devicesAllocatedTo(podGiven("web", "")), IsEmpty());
  EXPECT_THAT(devicesAllocatedTo(podGiven("web", "{torn")), IsEmpty());
}

TEST(AllocatedDevices, TheFirstContainerHasThemBesideWhatKubeletKnows) {
  const auto devicesOf = [](std::string_view space, std::string_view name) {
    EXPECT_EQ(space, "shop");
    return name == "web" ? devicesAllocatedTo(podGiven("web", kAllocated))
                         : std::vector<ResourceDevices>();
  };
  const std::string reply =
      field(1, podMessage("web")) + field(1, podMessage("other")) + field(9, "of a later kubelet");
  const auto completed = withAllocatedDevices(reply, devicesOf);
  ASSERT_TRUE(completed) << completed.error().message;
  std::string cpus;
  wire::putNumber(cpus, 3, 5);
  const std::string web =
      field(1, "web") + field(2, "shop") +
      field(3, field(1, "main") + cpus +
                   field(2, field(1, "koordinator.sh/rdma") + field(2, "0000:01:00.3")) +
                   field(2, field(1, "nvidia.com/gpu") + field(2, "GPU-a") + field(2, "GPU-b")) +
                   field(2, field(1, "vendor.com/nic") + field(2, "eth7"))) +
      field(3, field(1, "side"));
  EXPECT_EQ(inOrder(*completed), inOrder(field(1, web) + field(1, podMessage("other")) +
                                         field(9, "of a later kubelet")));
  for (std::size_t size = 1; size < reply.size(); ++size)  // torn anywhere: an error or less of it
    (void)withAllocatedDevices(std::string_view(reply).substr(0, size), devicesOf);
  EXPECT_FALSE(withAllocatedDevices(std::string_view(reply).substr(0, 20), devicesOf));
}

TEST(AllocatedDevices, FieldsOfALaterKubeletAreKeptWhateverTheirType) {
  std::string later = field(1, "web") + field(2, "shop") + field(3, field(1, "main"));
  wire::putDouble(later, 12, 1.5);
  const auto completed = withAllocatedDevices(field(1, later), [](auto, auto) {
    return std::vector<ResourceDevices>{{"nvidia.com/gpu", {"GPU-a"}}};
  });
  ASSERT_TRUE(completed) << completed.error().message;
  std::string kept;
  wire::putDouble(kept, 12, 1.5);
  EXPECT_THAT(*completed, testing::HasSubstr(kept));
  EXPECT_THAT(*completed, testing::HasSubstr("GPU-a"));
}

Task<void> keepReply(Future<net::GrpcReply> future, std::optional<net::GrpcReply>* into,
                     EventLoop* loop) {
  auto reply = co_await future;
  *into = std::move(reply);
  loop->post([loop] { loop->stop(); });
}

TEST(PodResourcesProxy, AnswersAsKubeletDoesWithOurDevices) {
  const TempTree tree;
  const std::string kubeletSocket = tree.path("kubelet.sock");
  net::IoThread kubelet("kubelet"), client("client");
  std::unique_ptr<net::GrpcServer> served;
  kubelet.runSync([&] {
    served = *net::GrpcServer::start(
        kubelet.loop(), kubeletSocket, [](net::GrpcRequest request, net::GrpcAnswer answer) {
          if (request.method.ends_with("/List")) return answer(field(1, podMessage("web")));
          if (request.method.ends_with("/GetAllocatableResources"))
            return answer(field(1, "as it is"));
          answer(std::unexpected(net::GrpcStatus{net::GrpcCode::NotFound, "no such pod"}));
        });
  });
  EventLoop koordlet;
  States states;
  states.setPods({podGiven("web", kAllocated)});
  auto proxy = std::make_unique<PodResourcesProxy>(
      koordlet, states, PodResourcesProxy::Options{tree.path("proxy"), kubeletSocket});
  proxy->start();
  std::unique_ptr<net::GrpcChannel> channel;
  std::unique_ptr<TaskGroup> tasks;
  client.runSync([&] {
    channel = std::make_unique<net::GrpcChannel>(client.loop(), tree.path("proxy/kubelet.sock"));
    tasks = std::make_unique<TaskGroup>();
  });
  const auto ask = [&](const char* method) {
    std::optional<net::GrpcReply> reply;
    client.runSync([&] {
      tasks->spawn(keepReply(channel->call(std::string("/v1.PodResourcesLister/") + method, "",
                                           std::chrono::seconds(30)),
                             &reply, &koordlet));
    });
    koordlet.run();
    return *std::move(reply);
  };
  const auto list = ask("List");
  ASSERT_TRUE(list) << list.error().text();
  EXPECT_THAT(*list, testing::HasSubstr("GPU-b"));
  EXPECT_THAT(*list, testing::HasSubstr("0000:01:00.3"));
  EXPECT_EQ(ask("GetAllocatableResources").value(), field(1, "as it is"));
  const auto none = ask("Get");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, net::GrpcCode::NotFound);
  client.runSync([&] {
    tasks.reset();
    channel.reset();
  });
  proxy.reset();
  kubelet.runSync([&] { served.reset(); });
}

}  // namespace
}  // namespace koord::koordlet
