#include "scheduler/recording/redaction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/protobuf/envelope.h"
#include "api/protobuf/plan.h"
#include "api/protobuf/transcode.h"
#include "base/json.h"

namespace koord::scheduler::recording {
namespace {

// Everything that is left out has a value with "hush". @ stands for what is left out.
constexpr std::string_view kContainers = R"([{"name": "c", "image": "i:1"@,
  "resources": {"requests": {"cpu": "1"}}, "ports": [{"containerPort": 80, "hostPort": 8080}]}])";
constexpr std::string_view kHush = R"(, "command": ["hush"], "args": ["--password", "hush"],
  "env": [{"name": "TOKEN", "value": "hush"}], "envFrom": [{"prefix": "hush"}],
  "livenessProbe": {"exec": {"command": ["hush"]}},
  "lifecycle": {"postStart": {"httpGet": {"port": 1, "httpHeaders": [{"name": "Authorization",
  "value": "hush"}]}}})";
constexpr std::string_view kAnnotation =
    R"(, "kubectl.kubernetes.io/last-applied-configuration": "{\"containers\": \"hush\"}")";

json::value documentOf(std::string_view text, bool hush) {
  std::string whole;
  for (const char c : text) {
    if (c == '@') {
      whole += hush ? kHush : std::string_view();
    } else if (c == '#') {
      whole += hush ? kAnnotation : std::string_view();
    } else if (c == '$') {
      whole += toJson(documentOf(kContainers, hush));
    } else {
      whole += c;
    }
  }
  return parseJson(whole).value();
}

constexpr std::string_view kPod = R"({"metadata": {"name": "p", "annotations": {"a": "b"#}},
  "spec": {"containers": $, "initContainers": $, "ephemeralContainers": $, "nodeName": "n"}})";
constexpr std::string_view kSet = R"({"metadata": {"name": "s", "annotations": {"a": "b"#}},
  "spec": {"replicas": 3, "selector": {}, "template": {"metadata": {}, "spec": {"containers": $}}}})";
constexpr std::string_view kReservation = R"({"metadata": {"name": "r", "annotations": {"a": "b"#}},
  "spec": {"template": {"spec": {"containers": $}}}})";
constexpr std::string_view kNode = R"({"metadata": {"name": "n", "annotations":
  {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, "status": {"capacity": {"cpu": "4"}}})";

struct Formats {
  std::string body, list, event;
};

Formats inJson(const json::value& object) {
  return {
      toJson(object),
      toJson(json::object{{"metadata", json::object()}, {"items", json::array{object, object}}}),
      toJson(json::object{{"type", "ADDED"}, {"object", object}})};
}

Formats inProtobuf(const json::value& object, const std::string& kind) {
  const auto& types = api::sharedBuiltinTypes();
  const api::Schema& type = *types.find(kind);
  const json::value list = json::object{{"metadata", json::object{{"resourceVersion", "7"}}},
                                        {"items", json::array{object, object}}};
  Formats made;
  made.body = api::sealEnvelope("v1", kind, api::encodeMessage(object, type).message);
  made.list = api::sealEnvelope("v1", kind + "List",
                                api::encodeList(list, *types.find("ListMeta"), type).message);
  made.event = api::watchFrame("ADDED", made.body).substr(api::kFrameHead);
  return made;
}

std::string redactedText(const std::string& text) {
  std::string storage;
  return std::string(redacted(text, storage));
}

void expectRedacted(const Formats& received, const Formats& expected, std::string_view what) {
  for (const auto format : {&Formats::body, &Formats::list, &Formats::event}) {
    EXPECT_NE((received.*format).find("hush"), std::string::npos) << what;
    EXPECT_EQ(redactedText(received.*format), expected.*format) << what;
    EXPECT_EQ(redactedText(expected.*format), expected.*format) << what;
  }
}

TEST(Redaction, what_may_be_secret_is_left_out_and_everything_else_stays) {
  for (const std::string_view text : {kPod, kSet, kReservation})
    expectRedacted(inJson(documentOf(text, true)), inJson(documentOf(text, false)), text);
  expectRedacted(inProtobuf(documentOf(kPod, true), "Pod"),
                 inProtobuf(documentOf(kPod, false), "Pod"), "Pod");
  for (const char* kind : {"ReplicaSet", "StatefulSet"})
    expectRedacted(inProtobuf(documentOf(kSet, true), kind),
                   inProtobuf(documentOf(kSet, false), kind), kind);
}

TEST(Redaction, text_with_nothing_to_leave_out_is_not_copied) {
  const json::value node = documentOf(kNode, false);
  const Formats json = inJson(node), protobuf = inProtobuf(node, "Node");
  for (const std::string& text :
       {json.body, json.list, json.event, protobuf.body, protobuf.list, protobuf.event,
        std::string(), std::string("\n"), std::string("{\"containers\": ")}) {
    std::string storage;
    EXPECT_EQ(redacted(text, storage).data(), text.data());
  }
}

TEST(Redaction, a_message_that_is_cut_off_stays_as_it_was_received) {
  const std::string body = inProtobuf(documentOf(kPod, true), "Pod").body;
  for (std::size_t length = 0; length < body.size(); ++length) {
    const std::string cut = body.substr(0, length);
    const std::string rest = redactedText(cut);
    EXPECT_TRUE(rest == cut || rest.find("hush") == std::string::npos) << length;
  }
}

}  // namespace
}  // namespace koord::scheduler::recording
