#include "api/protobuf/transcode.h"

#include <gmock/gmock.h>

#include "api/schema/builtin.h"

namespace koord::api {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

class ProtobufTest : public ::testing::Test {
 protected:
  const Schema& schema(const char* kind) { return *types.find(kind); }
  // What is left of an object that was written and read again.
  json::value back(const char* kind, std::string_view text) {
    const auto encoded = encodeMessage(parseJson(text).value(), schema(kind));
    EXPECT_TRUE(encoded.complete) << text;
    auto decoded = decodeMessage(encoded.message, schema(kind));
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded.value_or(json::value{});
  }
  std::string error(const char* kind, std::string_view message) {
    const auto decoded = decodeMessage(message, schema(kind));
    return decoded ? "" : decoded.error().message;
  }

  SchemaSet types = builtinTypes();
};

// Bytes as client-go sends them.
TEST_F(ProtobufTest, aNamespaceOfAClientIsRead) {
  std::string metadata = "\n\x04team\x12\0\x1a\0*\0"s;
  std::string message = "\n"s + static_cast<char>(metadata.size()) + metadata + "\x12\0\x1a\0"s;
  const auto sealed = sealEnvelope("v1", "Namespace", message);
  const auto envelope = openEnvelope(sealed);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->apiVersion, "v1");
  EXPECT_EQ(envelope->kind, "Namespace");
  const auto object = decodeMessage(envelope->message, schema("Namespace"));
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(*object, parseJson(R"({"metadata":{"name":"team"},"spec":{},"status":{}})").value());
}

TEST_F(ProtobufTest, everyShapeOfFieldComesBack) {
  const auto same = [&](const char* kind, std::string_view text) {
    EXPECT_EQ(back(kind, text), parseJson(text).value());
  };
  same(
      "Pod",
      R"({"metadata":{"name":"a","labels":{"x":"y","z":""},"creationTimestamp":"2026-01-02T03:04:05Z",
      "managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]},
      "spec":{"volumes":[{"name":"v","hostPath":{"path":"/","type":""}},{"name":"e","emptyDir":{"sizeLimit":"1Gi"}}],
      "containers":[{"name":"c","resources":{"limits":{"cpu":"500m"}},"livenessProbe":{"httpGet":{"path":"/h","port":"web"},"periodSeconds":5},
      "ports":[{"containerPort":80}],"env":[{"name":"E","valueFrom":{"configMapKeyRef":{"name":"m","key":"k","optional":false}}}]}],
      "priority":-5,"terminationGracePeriodSeconds":0,"securityContext":{"runAsUser":0,"supplementalGroups":[1,2]}}})"s
          .c_str());
  same("Secret", R"({"data":{"k":"AAEC/w=="}})");
  same(
      "Lease",
      R"({"spec":{"holderIdentity":"me","renewTime":"2026-01-02T03:04:05.678901Z","leaseTransitions":0}})");
  same("PodDisruptionBudget",
       R"({"spec":{"maxUnavailable":"50%"},"status":{"disruptionsAllowed":1}})");
  same("Deployment", R"({"spec":{"replicas":0,"strategy":{"rollingUpdate":{"maxSurge":2}}}})");
  same("PodSpec",
       R"({"volumes":[{"name":"r","rbd":{"monitors":["m"],"image":"i","secretRef":{"name":"s"}}},
      {"name":"i","iscsi":{"targetPortal":"p","iqn":"q","lun":0,"chapAuthSession":true}},
      {"name":"f","flexVolume":{"driver":"d","options":{"a":"b"}}}]})");
  same("PersistentVolumeSpec",
       R"({"cephfs":{"monitors":["m"],"secretRef":{"name":"s","namespace":"n"}}})");
  same("CSIDriver", R"({"spec":{"tokenRequests":[{"audience":"","expirationSeconds":600}]}})");
  same("ControllerRevision", R"({"data":{"spec":[1,2]},"revision":3})");
  same("DeleteOptions", R"({"gracePeriodSeconds":0,"preconditions":{"uid":"u"},"dryRun":["All"]})");
}

TEST_F(ProtobufTest, zerosThatMeanNothingAreNotThere) {
  std::string spec;
  wire::putBytes(spec, 6, "");   // dnsPolicy
  wire::putNumber(spec, 11, 0);  // hostNetwork
  wire::putNumber(spec, 4, 0);   // terminationGracePeriodSeconds, a pointer
  const auto decoded = decodeMessage(spec, schema("PodSpec"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, parseJson(R"({"terminationGracePeriodSeconds":0})").value());
}

TEST_F(ProtobufTest, fieldsThatNobodyKnowsAreSkipped) {
  std::string message;
  wire::putBytes(message, 900, "future");
  wire::putNumber(message, 901, 7);
  wire::putDouble(message, 902, 1.5);
  EXPECT_EQ(error("Pod", message), "");
}

TEST_F(ProtobufTest, bytesThatAreNoMessageAreRefused) {
  EXPECT_THAT(error("Pod", "\n"s), HasSubstr("ends in the middle"));
  EXPECT_THAT(error("Pod", "\n\x7f"s), HasSubstr("ends in the middle"));
  EXPECT_THAT(error("Pod", "\x0b"s), HasSubstr("unknown wire type"));
  EXPECT_THAT(error("Pod", std::string(11, '\xff')), HasSubstr("too long"));
  EXPECT_EQ(error("Pod", "\x08\x01"s), "metadata: expected a message");
  std::string name;
  wire::putBytes(name, 1, "\xff\xfe");
  std::string pod;
  wire::putBytes(pod, 1, name);
  EXPECT_EQ(error("Pod", pod), "metadata: name: expected a string in UTF-8");
  EXPECT_THAT(openEnvelope("{}").error().message, HasSubstr("does not begin with"));
}

TEST_F(ProtobufTest, whatHasNoDescriptionIsSaid) {
  ASSERT_TRUE(addTypes(types, "Thing: odd#6 any"));
  EXPECT_FALSE(encodeMessage(parseJson(R"({"odd":{"a":1}})").value(), schema("Thing")).complete);
  std::string thing;
  wire::putBytes(thing, 6, "x");
  EXPECT_EQ(error("Thing", thing), "odd: this field cannot be read from protobuf here; send JSON");
}

TEST_F(ProtobufTest, listsAndWatchEventsAreFramed) {
  const auto list = encodeList(
      parseJson(
          R"({"metadata":{"resourceVersion":"7"},"items":[{"kind":"Pod","metadata":{"name":"a"}}]})")
          .value(),
      schema("ListMeta"), schema("Pod"));
  EXPECT_TRUE(list.complete);
  EXPECT_EQ(list.message,
            "\n\x03\x12\x01"
            "7"
            "\x12\x05\n\x03\n\x01"
            "a"s);
  EXPECT_EQ(watchFrame("ADDED", "x"),
            "\0\0\0\x0c\n\x05"
            "ADDED"
            "\x12\x03\n\x01"
            "x"s);
}

TEST_F(ProtobufTest, fieldsOfStructsInStructsAreNestedMessages) {
  const auto value =
      parseJson(R"({"resourceNames":["n"],"operations":["*"],"apiGroups":["apps"],"scope":"*"})")
          .value();
  const auto written = encodeMessage(value, schema("NamedRuleWithOperations"));
  EXPECT_TRUE(written.complete);
  EXPECT_EQ(written.message,
            "\n\x01n"
            "\x12\x0e"
            "\n\x01*"
            "\x12\x09\n\x04"
            "apps"
            "\"\x01*"s);
}

}  // namespace
}  // namespace koord::api
