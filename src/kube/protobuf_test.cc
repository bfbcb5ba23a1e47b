// The client in protobuf: what it asks for, sends and understands, against servers that speak it
// and servers that do not.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core.h"
#include "api/protobuf/wire.h"
#include "api/slo.h"
#include "base/virtual_loop.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "kube/informer.h"
#include "net/testing/sim_network.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using net::headerOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kJsonType = "application/json";
constexpr const char* kBothTypes = "application/vnd.kubernetes.protobuf,application/json";

template <class T>
std::string sealed(const T& object) {
  return api::sealEnvelope(api::apiVersionOf(T::kType), T::kType.kind, api::writeMessage(object));
}

api::Pod podNamed(std::string name, std::string version = "1") {
  api::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.namespace_ = "ns";
  pod.metadata.resourceVersion = std::move(version);
  return pod;
}

class ProtobufClientTest : public ::testing::Test {
 protected:
  ProtobufClientTest() { connect({}); }

  void connect(HttpApiOptions options) {
    network.listen([this](net::ServerRequest request, std::shared_ptr<net::Responder> to) {
      requests.push_back(request);
      answer(*to);
      kept.push_back(std::move(to));
    });
    api = std::make_unique<HttpApi>(network, loop, ClientConfig{.server = "http://server"},
                                    std::move(options));
  }
  void answerWith(int status, std::string type, std::string body) {
    answer = [=](net::Responder& to) { to.respond(status, {{"Content-Type", type}}, body); };
  }
  template <class T>
  Result<T> run(Task<Result<T>> task) {
    std::optional<Result<T>> result;
    TaskGroup tasks;
    tasks.spawn(keep(std::move(task), result));
    EXPECT_TRUE(loop.advanceUntil([&] { return result.has_value(); }, 1min));
    return *std::move(result);
  }
  template <class T>
  static Task<void> keep(Task<Result<T>> task, std::optional<Result<T>>& result) {
    auto answered = co_await task;
    result = std::move(answered);
  }
  std::string accepted() const { return std::string(headerOf(requests.back().headers, "Accept")); }
  std::string sentType() const {
    return std::string(headerOf(requests.back().headers, "Content-Type"));
  }

  VirtualLoop loop;
  net::SimNetwork network{loop, Random(1)};
  std::function<void(net::Responder&)> answer = [](net::Responder&) {};
  std::vector<net::ServerRequest> requests;
  std::vector<std::shared_ptr<net::Responder>> kept;
  std::unique_ptr<HttpApi> api;
};

TEST_F(ProtobufClientTest, builtInKindsAreAskedForInProtobufAndCustomOnesInJson) {
  answerWith(200, std::string(api::kProtobufType), sealed(podNamed("a")));
  const auto pod = run(get<api::Pod>(*api, {"ns", "a"}));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.name, "a");
  EXPECT_EQ(accepted(), kBothTypes);
  answerWith(200, kJsonType, R"({"metadata":{"name":"n"}})");
  EXPECT_TRUE(run(get<api::NodeMetric>(*api, {"", "n"})));
  EXPECT_EQ(accepted(), kJsonType);
  // A server that knows JSON only.
  answerWith(200, kJsonType, R"({"metadata":{"name":"b"}})");
  EXPECT_EQ(run(get<api::Pod>(*api, {"ns", "b"}))->metadata.name, "b");
}

TEST_F(ProtobufClientTest, whatIsConfiguredDecides) {
  answerWith(200, kJsonType, R"({"metadata":{"name":"b"}})");
  const auto asked = [&](std::string sent, std::string accept) {
    connect({.contentTypes = {std::move(sent), std::move(accept)}});
    EXPECT_TRUE(run(get<api::Pod>(*api, {"ns", "b"})));
    return accepted();
  };
  const std::string protobuf(api::kProtobufType);
  EXPECT_EQ(asked(protobuf, ""), kBothTypes);
  EXPECT_EQ(asked(kJsonType, ""), kJsonType);
  EXPECT_EQ(asked(protobuf, kJsonType), kJsonType);
  EXPECT_EQ(asked(kJsonType, protobuf), kBothTypes);
  EXPECT_EQ(asked(kJsonType, "application/json,application/vnd.kubernetes.protobuf"),
            "application/json,application/vnd.kubernetes.protobuf");
  EXPECT_EQ(asked("application/cbor", ""), kJsonType);
}

TEST_F(ProtobufClientTest, bodiesGoInProtobufToServersThatHaveAnsweredInIt) {
  answerWith(201, kJsonType, R"({"kind":"Status","status":"Success"})");
  EXPECT_TRUE(run(bindPod(*api, {"ns", "a"}, "uid", "node")));
  EXPECT_EQ(sentType(), kJsonType);
  answerWith(201, std::string(api::kProtobufType), api::sealEnvelope("v1", "Status", ""));
  EXPECT_TRUE(run(bindPod(*api, {"ns", "a"}, "uid", "node")));
  EXPECT_EQ(sentType(), kJsonType);
  EXPECT_TRUE(run(bindPod(*api, {"ns", "a"}, "uid", "node", {{"key", "value"}})));
  EXPECT_EQ(sentType(), api::kProtobufType);
  const auto envelope = api::openEnvelope(requests.back().body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->apiVersion, "v1");
  EXPECT_EQ(envelope->kind, "Binding");
  const auto binding = api::readMessage<api::Binding>(envelope->message);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->target.name, "node");
  EXPECT_EQ(binding->metadata.annotations.at("key"), "value");
  // Patches are JSON always.
  EXPECT_TRUE(run(patchOnly(*api, api::Pod::kType, {"ns", "a"}, PatchType::Strategic,
                            json::object{{"status", json::object{}}}, "status")));
  EXPECT_EQ(sentType(), "application/strategic-merge-patch+json");
}

TEST_F(ProtobufClientTest, documentsGoInProtobufWhenNothingOfThemIsLost) {
  answerWith(200, std::string(api::kProtobufType), api::sealEnvelope("v1", "Status", ""));
  EXPECT_TRUE(run(bindPod(*api, {"ns", "a"}, "uid", "node")));
  answerWith(200, kJsonType, "{}");
  const auto update = [&](const char* text) {
    EXPECT_TRUE(
        run(updateObject(*api, api::Lease::kType, {"ns", "lease"}, parseJson(text).value())));
    return sentType();
  };
  EXPECT_EQ(
      update(R"({"kind":"Lease","spec":{"holderIdentity":"me","strategy":"OldestEmulation"}})"),
      api::kProtobufType);
  const auto lease = api::readMessage<api::Lease>(api::openEnvelope(requests.back().body)->message);
  EXPECT_EQ(lease->spec.holderIdentity, "me");
  EXPECT_EQ(update(R"({"kind":"Lease","spec":{"holderIdentity":"me","fromTheFuture":1}})"),
            kJsonType);
  EXPECT_EQ(update(R"({"kind":"Lease","spec":{"holderIdentity":5}})"), kJsonType);
}

TEST_F(ProtobufClientTest, errorsInProtobufAreUnderstood) {
  api::Status status;
  status.reason = "AlreadyExists";
  status.message = "pods \"a\" already exists";
  status.details.emplace().retryAfterSeconds = 2;
  answerWith(409, std::string(api::kProtobufType),
             api::sealEnvelope("v1", "Status", api::writeMessage(status)));
  const auto made = run(create(*api, podNamed("a")));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(made.error().message, status.message);
  EXPECT_EQ(made.error().retryAfter, 2s);
  answerWith(500, std::string(api::kProtobufType), sealed(podNamed("a")));
  EXPECT_THAT(run(get<api::Pod>(*api, {"ns", "a"})).error().message, HasSubstr("no explanation"));
}

TEST_F(ProtobufClientTest, anAnswerThatIsNotWhatItsHeaderSaysIsNone) {
  answerWith(200, std::string(api::kProtobufType), "{}");
  EXPECT_EQ(run(get<api::Pod>(*api, {"ns", "a"})).error().code, ErrorCode::Unavailable);
  answerWith(200, kJsonType, sealed(podNamed("a")));
  EXPECT_EQ(run(get<api::Pod>(*api, {"ns", "a"})).error().code, ErrorCode::Unavailable);
}

TEST_F(ProtobufClientTest, answersThatAreCutAnywhereAreNone) {
  const std::string whole = sealed(podNamed("a"));
  // The two empty fields at the end of the envelope say nothing.
  for (std::size_t size = 1; size < whole.size() - 4; ++size) {
    answerWith(200, std::string(api::kProtobufType), whole.substr(0, size));
    const auto pod = run(get<api::Pod>(*api, {"ns", "a"}));
    ASSERT_FALSE(pod) << size;
    ASSERT_EQ(pod.error().code, ErrorCode::Unavailable) << size << ": " << pod.error().message;
  }
}

TEST_F(ProtobufClientTest, pagesOfAListAreReadOneAfterTheOther) {
  const auto page = [](std::string_view version, std::string_view next, std::string name) {
    std::string head, message;
    api::wire::putBytes(head, 2, version);
    api::wire::putBytes(head, 3, next);
    api::wire::putBytes(message, 1, head);
    api::wire::putBytes(message, 2, api::writeMessage(podNamed(std::move(name))));
    return api::sealEnvelope("v1", "PodList", message);
  };
  answer = [&](net::Responder& to) {
    const bool second = requests.back().target.find("continue=more") != std::string::npos;
    to.respond(200, {{"Content-Type", std::string(api::kProtobufType)}},
               second ? page("7", "", "b") : page("7", "more", "a"));
  };
  const auto pods = run(list<api::Pod>(*api));
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->resourceVersion, "7");
  ASSERT_EQ(pods->items.size(), 2U);
  EXPECT_EQ(pods->items[1].metadata.name, "b");
}

// What a watch brings, however the bytes come.
TEST_F(ProtobufClientTest, framesOfAWatchMayBeCutIntoPiecesAnywhere) {
  std::string bytes = api::watchFrame("ADDED", sealed(podNamed("a", "11")));
  bytes += api::watchFrame("MODIFIED", sealed(podNamed("a", "12")));
  bytes += api::watchFrame("DELETED", sealed(podNamed("a", "13")));
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    const std::size_t second = first + (bytes.size() - first) / 2;
    answer = [=](net::Responder& to) {
      to.begin(200, {{"Content-Type", std::string(api::kProtobufType) + ";stream=watch"}});
      for (const auto& part :
           {bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)})
        to.write(std::make_shared<const std::string>(part));
      to.end();
    };
    std::vector<std::string> seen;
    std::optional<Error> end;
    WatchSink sink{[&](std::string_view event) {
                     const auto opened =
                         openEvent(event, [&](std::string_view type, const Received& object) {
                           seen.push_back(fmt::format("{} {} {}", type, object.key().toString(),
                                                      object.resourceVersion()));
                         });
                     EXPECT_TRUE(opened);
                   },
                   [&](Error error) { end = std::move(error); }};
    Request request = makeRequest(Verb::Watch, api::Pod::kType);
    request.protobuf = true;
    const auto watch = api->watch(request, std::move(sink));
    ASSERT_TRUE(loop.advanceUntil([&] { return end.has_value(); }, 1min));
    EXPECT_EQ(end->message, "");
    ASSERT_THAT(seen, ElementsAre("ADDED ns/a 11", "MODIFIED ns/a 12", "DELETED ns/a 13")) << first;
  }
}

TEST_F(ProtobufClientTest, aFrameThatEndsTooEarlyOrIsTooLongEndsTheWatch) {
  const auto endOf = [&](std::string bytes) {
    answer = [=](net::Responder& to) {
      to.begin(200, {{"Content-Type", std::string(api::kProtobufType) + ";stream=watch"}});
      to.write(std::make_shared<const std::string>(bytes));
      to.end();
    };
    std::optional<Error> end;
    Request request = makeRequest(Verb::Watch, api::Pod::kType);
    request.protobuf = true;
    const auto watch =
        api->watch(request, {[](std::string_view) { ADD_FAILURE() << "there is no event"; },
                             [&](Error error) { end = std::move(error); }});
    EXPECT_TRUE(loop.advanceUntil([&] { return end.has_value(); }, 1min));
    return *end;
  };
  const std::string frame = api::watchFrame("ADDED", sealed(podNamed("a")));
  for (std::size_t size = 1; size < frame.size(); ++size)
    ASSERT_EQ(endOf(frame.substr(0, size)).code, ErrorCode::Unavailable) << size;
  EXPECT_EQ(endOf("\xff\xff\xff\xff").code, ErrorCode::RequestEntityTooLarge);
}

TEST_F(ProtobufClientTest, anObjectThatCannotBeReadIsNamed) {
  std::string labels, metadata, pod;
  api::wire::putBytes(metadata, 1, "a");
  api::wire::putBytes(metadata, 6, "5");
  api::wire::putBytes(labels, 1, "\xff");
  api::wire::putBytes(metadata, 11, labels);
  api::wire::putBytes(pod, 1, metadata);
  const Received received{std::string_view(pod)};
  EXPECT_EQ(received.key().name, "a");
  EXPECT_EQ(received.resourceVersion(), "5");
  EXPECT_EQ(received.as<api::Pod>().error().message,
            "metadata: labels: expected a string in UTF-8");
}

}  // namespace
}  // namespace koord::kube
