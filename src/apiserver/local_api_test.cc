// kube::Api calls into the server: on one virtual loop, and across threads.

#include "apiserver/local_api.h"

#include <gmock/gmock.h>

#include <future>

#include "api/pod.h"
#include "api/protobuf/envelope.h"
#include "apiserver/testing.h"
#include "base/event_loop.h"
#include "kube/client.h"
#include "kube/received.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;

using LocalApiTest = ServerTest;

kube::Request podsRequest(kube::Verb verb, std::string name = "", std::string body = "") {
  kube::Request request;
  request.verb = verb;
  request.version = "v1";
  request.resource = "pods";
  request.namespace_ = "default";
  request.name = std::move(name);
  request.body = std::move(body);
  return request;
}

Task<void> callInto(kube::Api* api, kube::Request request, std::vector<Result<std::string>>* out) {
  auto calling = api->call(std::move(request));
  auto result = co_await calling;
  out->push_back(std::move(result));
}

TEST_F(LocalApiTest, callsCarryBodiesAndErrors) {
  LocalApi api(*server, loop);
  std::vector<Result<std::string>> results;
  tasks.spawn(callInto(&api, podsRequest(kube::Verb::Create, "", pod("web")), &results));
  tasks.spawn(callInto(&api, podsRequest(kube::Verb::Get, "none"), &results));
  loop.runReady();
  ASSERT_THAT(results, SizeIs(2));
  ASSERT_TRUE(results[0]);
  EXPECT_EQ(textAt(*parseJson(*results[0]), "metadata", "name"), "web");
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, ErrorCode::NotFound);
  EXPECT_EQ(results[1].error().message, "pods \"none\" not found");
}

TEST_F(LocalApiTest, aWatchEndsWithItsHandle) {
  LocalApi api(*server, loop);
  std::vector<std::string> events;
  std::vector<Error> closed;
  kube::WatchSink sink{
      [&](std::string_view event) { events.emplace_back(textAt(*parseJson(event), "type")); },
      [&](Error error) { closed.push_back(std::move(error)); }};
  auto running = api.watch(podsRequest(kube::Verb::Watch), sink);
  loop.runReady();
  post(kPods, pod("a"));
  EXPECT_THAT(events, ElementsAre("ADDED"));
  running.reset();
  post(kPods, pod("b"));
  EXPECT_THAT(events, SizeIs(1));
  EXPECT_THAT(closed, SizeIs(0));

  auto request = podsRequest(kube::Verb::Watch);
  request.resource = "gizmos";
  running = api.watch(request, sink);
  loop.runReady();
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_EQ(closed[0].code, ErrorCode::NotFound);
}

Task<void> createMany(kube::Api* api, int count, std::promise<int>* done) {
  int made = 0;
  for (int i = 0; i < count; ++i) {
    kube::Request request =
        podsRequest(kube::Verb::Create, "",
                    R"({"metadata":{"name":"p)" + std::to_string(i) +
                        R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    auto calling = api->call(std::move(request));
    const auto result = co_await calling;
    made += result.has_value();
  }
  done->set_value(made);
}

TEST_F(LocalApiTest, aWatchSendsProtobufToThoseWhoReadIt) {
  LocalApi api(*server, loop);
  std::vector<std::string> events;
  const auto watch = [&](bool protobuf) {
    kube::Request request = podsRequest(kube::Verb::Watch);
    request.protobuf = protobuf;
    return api.watch(std::move(request),
                     {[&](std::string_view event) { events.emplace_back(event); }, nullptr});
  };
  auto message = watch(true);
  auto json = watch(false);
  loop.runReady();
  events.clear();
  post(kPods, pod("web"));
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_THAT(events[1], StartsWith(R"({"type":"ADDED")"));
  const auto opened = api::openWatchEvent(events[0]);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->type, "ADDED");
  EXPECT_EQ(kube::objectIn<api::Pod>(opened->object)->metadata.name, "web");
  message.reset();
  json.reset();
  loop.runReady();  // the server's half ends
}

TEST(LocalApiThreadsTest, componentsOfOtherThreadsSeeEveryEvent) {
  LoopThread serverThread("server"), componentThread("component");
  std::unique_ptr<Server> server;
  serverThread.runSync([&] { server = Server::open(serverThread.loop(), {}).value(); });
  constexpr int kPods = 300;
  std::promise<int> made;
  std::promise<void> seen;
  int events = 0;
  std::unique_ptr<LocalApi> api;
  std::unique_ptr<kube::Watch> watch;
  auto tasks = std::make_unique<TaskGroup>();
  componentThread.runSync([&] {
    api = std::make_unique<LocalApi>(*server, componentThread.loop());
    watch = api->watch(podsRequest(kube::Verb::Watch), {[&](std::string_view) {
                                                          if (++events == kPods) seen.set_value();
                                                        },
                                                        nullptr});
    tasks->spawn(createMany(api.get(), kPods, &made));
  });
  EXPECT_EQ(made.get_future().get(), kPods);
  seen.get_future().get();
  componentThread.runSync([&] {
    watch.reset();
    tasks.reset();
    api.reset();
  });
  serverThread.runSync([&] { server.reset(); });
}

}  // namespace
}  // namespace koord::apiserver::testing
