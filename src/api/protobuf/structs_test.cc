#include "api/protobuf/structs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "api/admission.h"
#include "api/codec.h"
#include "api/core.h"
#include "api/protobuf/plan.h"
#include "api/protobuf/transcode.h"
#include "api/resource_claims.h"
#include "api/services.h"
#include "api/storage.h"
#include "api/workloads.h"
#include "base/random.h"
#include "base/time.h"

namespace koord::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::string_literals;

// What a test needs of a kind; objects are compared as the JSON of all that their structs hold.
struct Subject {
  std::string_view kind;
  const Plan* (*plan)();
  Result<json::value> (*fromJson)(const json::value& document);
  Result<json::value> (*fromMessage)(std::string_view message);
  Result<std::string> (*rewritten)(std::string_view message);  // read and written
};

template <class T>
Subject subject() {
  return {T::kType.kind, &planFor<T>,
          [](const json::value& document) -> Result<json::value> {
            const auto object = decode<T>(document);
            if (!object) return fail(object.error());
            return encode(*object);
          },
          [](std::string_view message) -> Result<json::value> {
            const auto object = readMessage<T>(message);
            if (!object) return fail(object.error());
            return encode(*object);
          },
          [](std::string_view message) -> Result<std::string> {
            const auto object = readMessage<T>(message);
            if (!object) return fail(object.error());
            return writeMessage(*object);
          }};
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all{subject<Pod>(),
                                        subject<Binding>(),
                                        subject<Node>(),
                                        subject<Namespace>(),
                                        subject<ConfigMap>(),
                                        subject<Secret>(),
                                        subject<Event>(),
                                        subject<Lease>(),
                                        subject<PriorityClass>(),
                                        subject<PodDisruptionBudget>(),
                                        subject<PersistentVolumeClaim>(),
                                        subject<PersistentVolume>(),
                                        subject<StorageClass>(),
                                        subject<CSINode>(),
                                        subject<CSIDriver>(),
                                        subject<CSIStorageCapacity>(),
                                        subject<VolumeAttachment>(),
                                        subject<ResourceClaim>(),
                                        subject<ResourceClaimTemplate>(),
                                        subject<DeviceClass>(),
                                        subject<ResourceSlice>(),
                                        subject<Service>(),
                                        subject<ReplicationControllerSelection>(),
                                        subject<ReplicaSetSelection>(),
                                        subject<StatefulSetSelection>(),
                                        subject<Deployment>(),
                                        subject<ReplicaSet>(),
                                        subject<StatefulSet>(),
                                        subject<DaemonSet>(),
                                        subject<ControllerRevision>(),
                                        subject<Job>(),
                                        subject<CronJob>(),
                                        subject<MutatingWebhookConfiguration>(),
                                        subject<ValidatingWebhookConfiguration>()};
  return all;
}

// Objects of a type with about half of its fields, as the API shows them: no zeros but where they
// count.
class RandomObjects {
 public:
  explicit RandomObjects(std::uint64_t seed) : random_(seed) {}

  json::value of(const Schema& schema, int depth = 0) {
    json::object object;
    for (const auto& field : schema.fields) {
      if (!field.type || field.wire.empty()) continue;
      if (!field.required && !random_.chance(depth > 6 ? 0.15 : 0.6)) continue;
      zeros_ = field.pointer || field.kept || (field.required && field.type->type != Type::String);
      object.emplace(field.name, value(*field.type, depth + 1));
    }
    return object;
  }

 private:
  using Type = Schema::Type;

  json::value value(const Schema& schema, int depth) {
    const bool zero = std::exchange(zeros_, false) && random_.chance(0.2);
    switch (schema.type) {
      case Type::Object:
        return of(schema, depth);
      case Type::List: {
        json::array list;
        for (auto n = 1 + random_.below(3); n > 0; --n) list.push_back(value(*schema.items, depth));
        return list;
      }
      case Type::Map: {
        json::object map;
        for (auto n = 1 + random_.below(3); n > 0; --n)
          map[text()] = schema.items ? value(*schema.items, depth) : json::value(text());
        return map;
      }
      case Type::String:
        return json::value(zero ? "" : text());
      case Type::Integer: {
        const auto number = static_cast<std::int64_t>(1 + random_.below(1U << 30));
        return zero ? 0 : random_.chance(0.2) ? -number : number;
      }
      case Type::Number:
        return zero ? 0.0 : 0.5 + static_cast<double>(random_.below(100));
      case Type::Boolean:
        return !zero;
      case Type::Quantity:
        return json::value(pick({"100m", "2", "500Mi", "1Gi", "1e3", "0", "1500u"}));
      case Type::IntOrString:
        return random_.chance(0.5) ? json::value(static_cast<std::int64_t>(random_.below(100)))
                                   : json::value("25%");
      case Type::Time:
        return json::value(formatTime(time()));
      case Type::MicroTime:
        return json::value(formatMicroTime(time()));
      case Type::Duration:
        return json::value(formatDuration(std::chrono::milliseconds(1 + random_.below(100'000))));
      case Type::Bytes:
        return json::value(pick({"", "AAEC/w==", "aGVsbG8="}));
      case Type::Any:
        return json::object{{text(), json::array{1, text(), nullptr}}};
    }
    return nullptr;
  }

  std::string text() {
    return fmt::format("{}{}",
                       pick({"a", "Grüße", "a longer text than fits in place ", "例/", "x"}),
                       random_.below(1000));
  }
  std::string_view pick(std::initializer_list<std::string_view> texts) {
    return texts.begin()[random_.below(texts.size())];
  }
  WallTime time() {
    return WallTime{} + std::chrono::seconds(1 + random_.below(4'000'000'000)) +
           std::chrono::nanoseconds(random_.below(1'000'000'000));
  }

  Random random_;
  bool zeros_ = false;
};

std::string messageOf(const json::value& document, std::string_view kind) {
  const auto encoded = encodeMessage(document, *sharedBuiltinTypes().find(kind));
  EXPECT_TRUE(encoded.complete) << kind;
  return encoded.message;
}

TEST(StructsTest, objectsReadFromProtobufAreThoseReadFromJson) {
  for (const auto& about : subjects()) {
    const Schema& schema = *sharedBuiltinTypes().find(about.kind);
    RandomObjects objects(7);
    for (int i = 0; i < 100; ++i) {
      const json::value document = objects.of(schema);
      const std::string message = messageOf(document, about.kind);
      const auto fromMessage = about.fromMessage(message);
      ASSERT_TRUE(fromMessage) << about.kind << ": " << fromMessage.error().message;
      const auto transcoded = decodeMessage(message, schema);
      ASSERT_TRUE(transcoded) << about.kind << ": " << transcoded.error().message;
      ASSERT_EQ(*fromMessage, about.fromJson(*transcoded).value()) << about.kind;
      const auto fromJson = about.fromJson(document);
      ASSERT_TRUE(fromJson) << about.kind << ": " << fromJson.error().message;
      ASSERT_EQ(*fromMessage, *fromJson) << about.kind;
    }
  }
}

TEST(StructsTest, whatIsWrittenReadsAsTheSame) {
  for (const auto& about : subjects()) {
    const Schema& schema = *sharedBuiltinTypes().find(about.kind);
    RandomObjects objects(8);
    for (int i = 0; i < 100; ++i) {
      const std::string message = messageOf(objects.of(schema), about.kind);
      const auto written = about.rewritten(message);
      ASSERT_TRUE(written) << about.kind << ": " << written.error().message;
      const json::value expected = about.fromMessage(message).value();
      ASSERT_EQ(about.fromMessage(*written).value(), expected) << about.kind;
      // And as others read it.
      const auto transcoded = decodeMessage(*written, schema);
      ASSERT_TRUE(transcoded) << about.kind << ": " << transcoded.error().message;
      ASSERT_EQ(about.fromJson(*transcoded).value(), expected) << about.kind;
    }
  }
}

void collectAbsent(const Plan& plan, const std::string& path, std::set<std::string>& absent,
                   std::set<const Plan*>& seen) {
  if (!seen.insert(&plan).second) return;
  for (const auto name : plan.absent) absent.insert(fmt::format("{}.{}", path, name));
  for (const auto& slot : plan.slots)
    if (slot.plan) collectAbsent(*slot.plan, fmt::format("{}.{}", path, slot.name), absent, seen);
}

// A member without a number is never filled from protobuf.
TEST(StructsTest, everyMemberHasItsNumberInTheTable) {
  std::set<std::string> absent;
  for (const auto& about : subjects()) {
    ASSERT_NE(about.plan(), nullptr) << about.kind;
    std::set<const Plan*> seen;
    collectAbsent(*about.plan(), std::string(about.kind), absent, seen);
  }
  // Structs of ours that stand for several types, of which not all have the member.
  EXPECT_THAT(absent, ::testing::UnorderedElementsAre(
                          "DaemonSet.spec.updateStrategy.rollingUpdate.partition",
                          "Deployment.spec.strategy.rollingUpdate.partition",
                          "ReplicaSet.status.conditions.lastUpdateTime",
                          "StatefulSet.spec.updateStrategy.rollingUpdate.maxSurge",
                          "ValidatingWebhookConfiguration.webhooks.reinvocationPolicy"));
}

TEST(StructsTest, kindsThatAreNotBuiltInHaveNoMessages) {
  EXPECT_FALSE(isBuiltin({"slo.koordinator.sh", "v1alpha1", "nodemetrics", "NodeMetric", false}));
  EXPECT_TRUE(isBuiltin(Pod::kType));
  EXPECT_EQ(makePlan(nullptr, "Pod"), nullptr);
}

TEST(StructsTest, aStatusIsRead) {
  const auto status = readMessage<Status>(
      messageOf(parseJson(R"({"status":"Failure","reason":"Expired","message":"too old","code":410,
                    "details":{"retryAfterSeconds":3}})")
                    .value(),
                "Status"));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->reason, "Expired");
  EXPECT_EQ(status->code, 410);
  EXPECT_EQ(status->details->retryAfterSeconds, 3);
}

TEST(StructsTest, messagesThatAreCutOrChangedAnywhereDoNoHarm) {
  RandomObjects objects(9);
  const std::string message =
      messageOf(objects.of(*sharedBuiltinTypes().find("Pod")), "Pod").substr(0, 6000);
  for (std::size_t size = 0; size < message.size(); ++size) {
    (void)readMessage<Pod>(std::string_view(message).substr(0, size));
    for (const char byte : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string changed = message;
      changed[size] = byte;
      (void)readMessage<Pod>(changed);
    }
  }
}

TEST(StructsTest, errorsNameTheField) {
  const auto problem = [](std::string_view message) {
    const auto pod = readMessage<Pod>(message);
    return pod ? Error{} : pod.error();
  };
  const auto inside = [](std::uint32_t number, std::string_view bytes) {
    std::string out;
    wire::putBytes(out, number, bytes);
    return out;
  };
  const auto spec = [&](std::string_view bytes) { return inside(2, bytes); };
  EXPECT_EQ(problem("\n\x7f"s).code, ErrorCode::BadRequest);
  EXPECT_THAT(problem("\n\x7f"s).message, HasSubstr("ends in the middle of a field"));
  EXPECT_THAT(problem("\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s).message, HasSubstr("ends in"));
  EXPECT_EQ(problem("\x08\x01"s).message, "metadata: expected a message");
  const auto text = problem(inside(1, inside(1, "\xff")));
  EXPECT_EQ(text.code, ErrorCode::Invalid);
  EXPECT_EQ(text.message, "metadata: name: expected a string in UTF-8");
  std::string priority;
  wire::putNumber(priority, 25, 1ULL << 40);
  EXPECT_THAT(problem(spec(priority)).message, StartsWith("spec: priority: 1099511627776 is not"));
  const std::string entry = inside(1, "cpu") + inside(2, inside(1, "lots"));
  EXPECT_THAT(problem(spec(inside(32, entry))).message, StartsWith("spec: overhead: [cpu]: "));
  // A group, which is obsolete, and a number with a text.
  EXPECT_THAT(problem(spec("\x0b")).message, HasSubstr("unknown wire type"));
  EXPECT_THAT(problem(spec(inside(25, "x"))).message, HasSubstr("priority: expected an integer"));
}

// A pod that is deleted with a grace period of three centuries must not be lost to its watchers.
TEST(StructsTest, anObjectWithATimeThatCannotBeHeldIsReadAllTheSame) {
  for (const auto& [seconds, year] : {std::pair{std::int64_t{10'700'000'000}, "2261"},
                                      {std::numeric_limits<std::int64_t>::max(), "2261"},
                                      {std::numeric_limits<std::int64_t>::min(), "1678"}}) {
    std::string time, metadata, message;
    wire::putNumber(time, 1, static_cast<std::uint64_t>(seconds));
    wire::putBytes(metadata, 1, "web");
    wire::putBytes(metadata, 9, time);
    wire::putBytes(message, 1, metadata);
    const auto pod = readMessage<Pod>(message);
    ASSERT_TRUE(pod) << pod.error().message;
    ASSERT_TRUE(pod->metadata.deletionTimestamp);
    EXPECT_EQ(formatTime(*pod->metadata.deletionTimestamp).substr(0, 4), year);
    // What is to be stored is not changed.
    EXPECT_FALSE(decodeMessage(message, *sharedBuiltinTypes().find("Pod")));
  }
}

TEST(StructsTest, aListTakesAsMuchRoomAsItNeeds) {
  Pod pod;
  for (int i = 0; i < 5; ++i) pod.spec.tolerations.push_back({.key = fmt::format("k{}", i)});
  const auto read = readMessage<Pod>(writeMessage(pod));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec.tolerations.size(), 5U);
  EXPECT_EQ(read->spec.tolerations.capacity(), 5U);
}

TEST(StructsTest, fieldsAreFoundWithoutReadingTheRest) {
  Pod pod;
  pod.metadata.resourceVersion = "12";
  const std::string message = writeMessage(pod);
  EXPECT_EQ(MessageField("Pod", {"metadata", "resourceVersion"}).in(message), "12");
  EXPECT_EQ(MessageField("Pod", {"metadata", "name"}).in(message), "");
  EXPECT_EQ(MessageField("Pod", {"metadata", "name"}).in("\n\x7f"), "");
}

}  // namespace
}  // namespace koord::api
