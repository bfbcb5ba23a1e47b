// Protobuf bodies through the HTTP front end, as client-go and kubectl send and request them.

#include "apiserver/protobuf_front.h"

#include <gmock/gmock.h>

#include "api/protobuf/transcode.h"
#include "apiserver/http_front.h"
#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";
constexpr const char* kBoth = "application/vnd.kubernetes.protobuf,application/json";

class Recorder final : public net::Responder {
 public:
  void respond(int code, net::Headers head, Bytes body) override {
    status = code;
    type = net::headerOf(head, "Content-Type");
    text = *body;
  }
  using Responder::respond;
  void begin(int code, net::Headers head) override {
    status = code;
    type = net::headerOf(head, "Content-Type");
  }
  void write(Bytes chunk) override {
    text += *chunk;
    chunks.push_back(std::move(chunk));
  }
  void end() override {}
  std::size_t queuedBytes() const override { return 0; }
  void abort() override {}
  void onClosed(Callback) override {}

  int status = 0;
  std::string type;
  std::string text;
  std::vector<Bytes> chunks;
};

class ProtobufFrontTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    HttpFrontOptions listen;
    listen.listen = "127.0.0.1:0";
    listen.anonymous = true;
    auto started = HttpFront::start(*server, std::move(listen));
    ASSERT_TRUE(started) << started.error().message;
    front = *std::move(started);
  }

  std::shared_ptr<Recorder> send(const std::string& method, const std::string& target,
                                 const std::string& accept, std::string body = "",
                                 const std::string& type = "") {
    net::ServerRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers.push_back({"Accept", accept});
    if (!type.empty()) request.headers.push_back({"Content-Type", type});
    auto recorder = std::make_shared<Recorder>();
    front->handle(std::move(request), recorder);
    loop.runReady();
    return recorder;
  }

  std::string encoded(const char* apiVersion, const char* kind, std::string_view text) {
    const auto& schema = *server->registry().builtinSchemas()->find(kind);
    return api::sealEnvelope(apiVersion, kind,
                             api::encodeMessage(*parseJson(text), schema).message);
  }
  json::value decoded(std::string_view body) {
    auto text = jsonOfProtobuf(body, server->registry());
    EXPECT_TRUE(text) << text.error().message;
    return text ? parseJson(*text).value() : json::value{};
  }

  std::unique_ptr<HttpFront> front;
};

TEST_F(ProtobufFrontTest, objectsAreWrittenAndReadInProtobuf) {
  const auto made = send(
      "POST", kPods, kBoth,
      encoded("v1", "Pod",
              R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}]}})"),
      kProtobuf);
  EXPECT_EQ(made->status, 201) << made->text;
  EXPECT_EQ(made->type, kProtobuf);
  const auto object = decoded(made->text);
  EXPECT_EQ(textAt(object, "kind"), "Pod");
  EXPECT_EQ(textAt(object, "spec", "restartPolicy"), "Always");
  EXPECT_EQ(textAt(object, "metadata", "creationTimestamp"), "2026-01-01T00:00:00Z");
  const auto read = send("GET", std::string(kPods) + "/web", kProtobuf);
  EXPECT_EQ(decoded(read->text), object);
  // The JSON form has the same.
  const auto plain = send("GET", std::string(kPods) + "/web", "application/json");
  EXPECT_EQ(plain->type, "application/json");
  auto json = parseJson(plain->text).value();
  EXPECT_EQ(json.at("spec"), object.at("spec"));
}

TEST_F(ProtobufFrontTest, failuresAndListsComeInProtobufToo) {
  const auto missing = send("GET", std::string(kPods) + "/web", kBoth);
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(textAt(decoded(missing->text), "reason"), "NotFound");
  post(kPods, pod("a"));
  const auto list = send("GET", kPods, kBoth);
  EXPECT_EQ(list->type, kProtobuf);
  const auto envelope = api::openEnvelope(list->text);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->kind, "PodList");
}

TEST_F(ProtobufFrontTest, deleteOptionsOfTypedClientsAreRead) {
  post(kPods, pod("web"));
  const auto gone =
      send("DELETE", std::string(kPods) + "/web", kBoth,
           encoded("v1", "DeleteOptions", R"({"preconditions":{"uid":"another"}})"), kProtobuf);
  EXPECT_EQ(gone->status, 409) << gone->text;
}

TEST_F(ProtobufFrontTest, scalesAreReadAndWritten) {
  ASSERT_EQ(post("/apis/apps/v1/namespaces/default/replicasets",
                 R"({"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"i"}]}}}})")
                .status,
            201);
  const std::string path = "/apis/apps/v1/namespaces/default/replicasets/web/scale";
  const auto before = send("GET", path, kBoth);
  EXPECT_EQ(before->type, kProtobuf) << before->text;
  auto scale = decoded(before->text);
  EXPECT_EQ(*at(scale, "spec", "replicas"), 1);
  EXPECT_EQ(textAt(scale, "status", "selector"), "a=b");
  scale.get_object()["spec"].get_object()["replicas"] = 3;
  const auto after =
      send("PUT", path, kBoth, encoded("autoscaling/v1", "Scale", toJson(scale)), kProtobuf);
  EXPECT_EQ(after->status, 200) << after->text;
  EXPECT_EQ(*at(decoded(after->text), "spec", "replicas"), 3);
  const auto none = send(
      "PUT", path, kBoth,
      encoded("autoscaling/v1", "Scale", R"({"metadata":{"name":"web"},"spec":{}})"), kProtobuf);
  EXPECT_EQ(none->status, 200) << none->text;
  EXPECT_EQ(*at(get("/apis/apps/v1/namespaces/default/replicasets/web").body, "spec", "replicas"),
            0);
}

TEST_F(ProtobufFrontTest, scalesOfCustomObjectsHaveMessagesToo) {
  post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       R"({"metadata":{"name":"gizmos.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo"},
    "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"scale":
      {"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
      "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  const std::string path = "/apis/example.com/v1/namespaces/default/gizmos";
  ASSERT_EQ(post(path, R"({"metadata":{"name":"g"},"spec":{"size":2}})").status, 201);
  const auto scale = send("GET", path + "/g/scale", kProtobuf);
  EXPECT_EQ(*at(decoded(scale->text), "spec", "replicas"), 2);
  const auto after =
      send("PUT", path + "/g/scale", kProtobuf,
           encoded("autoscaling/v1", "Scale", R"({"metadata":{"name":"g"},"spec":{"replicas":4}})"),
           kProtobuf);
  EXPECT_EQ(after->status, 200) << after->text;
  EXPECT_EQ(*at(get(path + "/g").body, "spec", "size"), 4);
}

TEST_F(ProtobufFrontTest, watchesAreSentInFrames) {
  const auto watch = send("GET", std::string(kPods) + "?watch=1", kBoth);
  EXPECT_EQ(watch->type, "application/vnd.kubernetes.protobuf;stream=watch");
  post(kPods, pod("web"));
  ASSERT_GT(watch->text.size(), api::kFrameHead);
  ASSERT_EQ(watch->text.size(), api::kFrameHead + api::eventLength(watch->text));
  const auto event = api::openWatchEvent(std::string_view(watch->text).substr(api::kFrameHead));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, "ADDED");
  EXPECT_EQ(textAt(decoded(event->object), "metadata", "name"), "web");
}

TEST_F(ProtobufFrontTest, watchersOfTheSameEventsShareTheirFrames) {
  const auto first = send("GET", std::string(kPods) + "?watch=1", kBoth);
  const auto selected =
      send("GET", std::string(kPods) + "?watch=1&labelSelector=tier%3Dweb", kBoth);
  const auto second = send("GET", std::string(kPods) + "?watch=1", kProtobuf);
  post(kPods, pod("a"));
  ASSERT_EQ(
      mergePatch(std::string(kPods) + "/a", R"({"metadata":{"labels":{"tier":"web"}}})").status,
      200);
  ASSERT_EQ(first->chunks.size(), 2u);
  EXPECT_EQ(first->chunks, second->chunks);
  ASSERT_EQ(selected->chunks.size(), 1u);
  const auto typeOf = [](const Bytes& frame) {
    return api::openWatchEvent(std::string_view(*frame).substr(api::kFrameHead))->type;
  };
  EXPECT_EQ(typeOf(first->chunks[0]), "ADDED");
  EXPECT_EQ(typeOf(first->chunks[1]), "MODIFIED");
  EXPECT_EQ(typeOf(selected->chunks[0]), "ADDED");
}

TEST_F(ProtobufFrontTest, whatHasNoMessagesIsSentAsJsonIfThatWillDo) {
  post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       R"({"metadata":{"name":"gizmos.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  const std::string path = "/apis/example.com/v1/namespaces/default/gizmos";
  ASSERT_EQ(post(path, R"({"metadata":{"name":"g"}})").status, 201);
  EXPECT_EQ(send("GET", path + "/g", kBoth)->type, "application/json");
  EXPECT_EQ(send("GET", path + "?watch=1", kBoth)->type, "application/json");
  const auto refused = send("GET", path + "/g", kProtobuf);
  EXPECT_EQ(refused->status, 406);
  EXPECT_THAT(textAt(decoded(refused->text), "message"), HasSubstr("media types are accepted"));
  // Metadata always have a message.
  const std::string partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const auto metadata = send("GET", path + "/g", kProtobuf + partial);
  EXPECT_EQ(metadata->status, 200);
  EXPECT_EQ(textAt(decoded(metadata->text), "metadata", "name"), "g");
}

TEST_F(ProtobufFrontTest, bodiesThatCannotBeReadAreRefused) {
  EXPECT_EQ(send("POST", kPods, "application/json", "{}", kProtobuf)->status, 400);
  EXPECT_EQ(send("POST", kPods, "application/json",
                 api::sealEnvelope("example.com/v1", "Gizmo", ""), kProtobuf)
                ->status,
            415);
  EXPECT_EQ(send("POST", kPods, "application/json", "\xa1", "application/cbor")->status, 415);
}

}  // namespace
}  // namespace koord::apiserver::testing
