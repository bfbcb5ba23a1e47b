// Create, read, update, patch and delete of objects.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using ObjectsTest = ServerTest;

std::string versionOf(const json::value& object) {
  return std::string(textAt(object, "metadata", "resourceVersion"));
}

TEST_F(ObjectsTest, aCreatedObjectHasItsSystemFieldsAndDefaults) {
  const auto created = post(kPods, pod("web"));
  ASSERT_EQ(created.status, 201) << created.message();
  const auto read = get(std::string(kPods) + "/web");
  EXPECT_EQ(read.body, created.body);
  EXPECT_EQ(textAt(read.body, "metadata", "creationTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(textAt(read.body, "metadata", "uid").size(), 36u);
  EXPECT_EQ(textAt(read.body, "metadata", "namespace"), "default");
  EXPECT_EQ(textAt(read.body, "spec", "restartPolicy"), "Always");
  EXPECT_EQ(textAt(read.body, "spec", "schedulerName"), "default-scheduler");
  EXPECT_EQ(*at(read.body, "spec", "terminationGracePeriodSeconds"), 30);
  EXPECT_EQ(textAt(read.body, "status", "phase"), "Pending");
  EXPECT_EQ(textAt(read.body, "status", "qosClass"), "BestEffort");
  EXPECT_EQ(at(read.body, "spec", "tolerations")->get_array().size(), 2u);
}

TEST_F(ObjectsTest, aGatedPodSaysThatItIsNotScheduled) {
  const auto made = post(kPods, pod("web", R"(,"schedulingGates":[{"name":"example.com/quota"}])"));
  EXPECT_EQ(*at(made.body, "status", "conditions"),
            *parseJson(R"([{"type":"PodScheduled","status":"False","reason":"SchedulingGated",
                   "message":"Scheduling is blocked due to non-empty scheduling gates"}])"));
  // A write without changes has no effect.
  EXPECT_EQ(mergePatch(std::string(kPods) + "/web", "{}").body, made.body);
}

TEST_F(ObjectsTest, volumesOfOldKindsHaveTheirDefaults) {
  const auto made = post(
      kPods,
      pod("v", R"(,"volumes":[{"name":"r","rbd":{"monitors":["m"],"image":"i","user":"me"}}])"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(
      at(made.body, "spec", "volumes")->get_array()[0].at("rbd"),
      *parseJson(
          R"({"monitors":["m"],"image":"i","user":"me","pool":"rbd","keyring":"/etc/ceph/keyring"})"));
  const auto volume = post(
      "/api/v1/persistentvolumes",
      R"({"metadata":{"name":"pv"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
      "iscsi":{"targetPortal":"p","iqn":"q","secretRef":{"name":"s","namespace":"n"}}}})");
  ASSERT_EQ(volume.status, 201) << volume.message();
  EXPECT_EQ(textAt(volume.body, "spec", "iscsi", "iscsiInterface"), "default");
  EXPECT_TRUE(volume.warnings.empty());
}

TEST_F(ObjectsTest, whatIsEmptyIsNotThere) {
  struct Case {
    const char* name;
    const char* path;
    const char* body;
    const char* patch;
    const char* field;
    const char* expected;  // "" when it is not there
  };
  const Case cases[] = {
      {"owners", "/api/v1/namespaces/default/configmaps",
       R"({"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u"}]}})",
       R"({"metadata":{"ownerReferences":[]}})", "ownerReferences", ""},
      {"labels, after each was taken away", "/api/v1/namespaces/default/configmaps",
       R"({"metadata":{"name":"b","labels":{"a":"b"}}})", R"({"metadata":{"labels":{"a":null}}})",
       "labels", ""},
      {"metadata of custom objects", "/apis/example.com/v1/namespaces/default/gizmos",
       R"({"metadata":{"name":"c","finalizers":["example.com/f"]}})",
       R"({"metadata":{"finalizers":[]}})", "finalizers", ""},
      {"fields of custom objects stay", "/apis/example.com/v1/namespaces/default/gizmos",
       R"({"metadata":{"name":"d"},"items":[1]})", R"({"items":[]})", "items", "[]"},
      {"what Go always shows stays", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
       R"({"metadata":{"name":"e"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]})",
       R"({"rules":[]})", "rules", "[]"}};
  post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      R"({"metadata":{"name":"gizmos.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"gizmos","kind":"Gizmo"},"versions":[{"name":"v1","served":true,"storage":true,
    "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  for (const auto& one : cases) {
    const auto made = post(one.path, one.body);
    ASSERT_EQ(made.status, 201) << one.name << ": " << made.message();
    const auto path =
        std::string(one.path) + "/" + std::string(textAt(made.body, "metadata", "name"));
    const auto patched = mergePatch(path, one.patch);
    ASSERT_EQ(patched.status, 200) << one.name << ": " << patched.message();
    const auto* field = at(patched.body, "metadata", one.field);
    if (!field) field = find(patched.body, one.field);
    EXPECT_EQ(field ? toJson(*field) : "", one.expected) << one.name;
  }
}

TEST_F(ObjectsTest, requestsComeFromLimitsWhereTheyAreMissing) {
  const auto created = post(
      kPods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":
      {"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}}]}})");
  ASSERT_EQ(created.status, 201) << created.message();
  const auto& resources = at(created.body, "spec", "containers")->get_array()[0].at("resources");
  EXPECT_EQ(
      resources,
      *parseJson(R"({"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}})"));
  EXPECT_EQ(textAt(created.body, "status", "qosClass"), "Burstable");
}

TEST_F(ObjectsTest, quantitiesThatAreNumbersBecomeCanonicalTexts) {
  const auto created = post(
      kPods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":
      {"limits":{"cpu":2,"memory":1e9},"requests":{"cpu":0.5,"memory":" 1Gi "}}}]}})");
  ASSERT_EQ(created.status, 422) << created.message();
  EXPECT_THAT(created.message(), HasSubstr("must be less than or equal to memory limit"));
  const auto smaller = post(
      kPods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":
      {"limits":{"cpu":2,"memory":1e9},"requests":{"cpu":0.5,"memory":1000.5}}}]}})");
  ASSERT_EQ(smaller.status, 201) << smaller.message();
  EXPECT_EQ(
      at(smaller.body, "spec", "containers")->get_array()[0].at("resources"),
      *parseJson(
          R"({"limits":{"cpu":"2","memory":"1G"},"requests":{"cpu":"500m","memory":"1000500m"}})"));
}

TEST_F(ObjectsTest, aNameIsMadeOfGenerateName) {
  const auto first = post(
      kPods,
      R"({"metadata":{"generateName":"job-"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto second = post(
      kPods,
      R"({"metadata":{"generateName":"job-"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(textAt(first.body, "metadata", "name").size(), 9u);
  EXPECT_TRUE(textAt(first.body, "metadata", "name").starts_with("job-"));
  EXPECT_NE(textAt(first.body, "metadata", "name"), textAt(second.body, "metadata", "name"));
}

TEST_F(ObjectsTest, errorsSayWhatKubernetesSays) {
  EXPECT_EQ(get(std::string(kPods) + "/none").message(), "pods \"none\" not found");
  EXPECT_EQ(get("/apis/apps/v1/namespaces/default/deployments/none").message(),
            "deployments.apps \"none\" not found");
  post(kPods, pod("web"));
  const auto again = post(kPods, pod("web"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.reason(), "AlreadyExists");
  EXPECT_EQ(again.message(), "pods \"web\" already exists");
  const auto wrong = post(kPods, R"({"metadata":{"name":"web"},"spec":{"containers":[]}})");
  EXPECT_EQ(wrong.message(), "Pod \"web\" is invalid: spec.containers: Required value");
  const auto nowhere = post("/api/v1/namespaces/nowhere/pods", pod("web"));
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(nowhere.message(), "namespaces \"nowhere\" not found");
  EXPECT_EQ(get("/api/v1/namespaces/default/gizmos").message(),
            "the server could not find the requested resource");
}

TEST_F(ObjectsTest, invalidObjectsAreRefusedWithTheFieldsThatAreWrong) {
  const auto wrong =
      post(kPods, R"({"metadata":{"name":"x"},"spec":{"containers":[{"name":"A_b","resources":
      {"requests":{"cpu":"-1","memory":"2Gi"},"limits":{"memory":"1Gi"}}}]}})");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.reason(), "Invalid");
  EXPECT_THAT(wrong.message(), HasSubstr("Pod \"x\" is invalid: ["));
  EXPECT_THAT(
      wrong.message(),
      HasSubstr("spec.containers[0].name: Invalid value: \"A_b\": a lowercase RFC 1123 label"));
  EXPECT_THAT(wrong.message(), HasSubstr("spec.containers[0].image: Required value"));
  EXPECT_THAT(wrong.message(), HasSubstr("spec.containers[0].resources.requests[cpu]: Invalid "
                                         "value: \"-1\": must be greater than or equal to 0"));
  EXPECT_THAT(wrong.message(),
              HasSubstr("spec.containers[0].resources.requests: Invalid value: \"2Gi\": must be "
                        "less than or equal to memory limit of 1Gi"));
  EXPECT_EQ(at(wrong.body, "details", "causes")->get_array().size(), 4u);
  EXPECT_EQ(textAt(at(wrong.body, "details", "causes")->get_array()[1], "reason"),
            "FieldValueRequired");
}

TEST_F(ObjectsTest, wrongTypesAreRefusedWithTheirPath) {
  const auto wrong =
      post("/apis/apps/v1/namespaces/default/deployments",
           R"({"metadata":{"name":"d"},"spec":{"replicas":"three","selector":{},"template":{}}})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.message(),
            "Deployment in version \"v1\" cannot be handled as a Deployment: spec.replicas: "
            "expected an integer, got \"three\"");
  EXPECT_EQ(post(kPods, "{\"metadata\": [").status, 400);
  EXPECT_EQ(post(kPods, "[]").status, 400);
  EXPECT_EQ(post(kPods, R"({"kind":"Node","metadata":{"name":"x"}})").status, 400);
}

TEST_F(ObjectsTest, unknownFieldsAreDroppedWithAWarningOrRefused) {
  const std::string body =
      R"({"metadata":{"name":"u"},"spec":{"containers":[{"name":"c","image":"i","imagex":1}],"foo":{}}})";
  const auto warned = post(kPods, body);
  EXPECT_EQ(warned.status, 201);
  EXPECT_THAT(warned.warnings, ElementsAre("unknown field \"spec.containers[0].imagex\"",
                                           "unknown field \"spec.foo\""));
  EXPECT_EQ(at(warned.body, "spec", "foo"), nullptr);
  const auto strict = post(std::string(kPods) + "?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_THAT(strict.message(),
              HasSubstr("strict decoding error: unknown field \"spec.containers[0].imagex\", "
                        "unknown field \"spec.foo\""));
}

TEST_F(ObjectsTest, anUpdateOfAnOldVersionIsAConflict) {
  post(kPods, pod("web"));
  const std::string path = std::string(kPods) + "/web";
  auto mine = get(path).body;
  ASSERT_EQ(mergePatch(path, R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  mine.at("metadata").get_object()["labels"] = {{"c", "d"}};
  const auto late = put(path, mine);
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.message(),
            "Operation cannot be fulfilled on pods \"web\": the object has been modified; please "
            "apply your changes to the latest version and try again");
  mine.at("metadata").get_object()["resourceVersion"] = versionOf(get(path).body);
  EXPECT_EQ(put(path, mine).status, 200);
  EXPECT_EQ(mergePatch(path, R"({"metadata":{"resourceVersion":"1","labels":{"x":"y"}}})").status,
            409);
}

TEST_F(ObjectsTest, aWriteThatChangesNothingKeepsTheVersion) {
  post(kPods, pod("web"));
  const std::string path = std::string(kPods) + "/web";
  const auto before = get(path).body;
  EXPECT_EQ(put(path, before).body, before);
  EXPECT_EQ(mergePatch(path, R"({"metadata":{"annotations":null}})").body, before);
}

TEST_F(ObjectsTest, statusAndSpecAreWrittenApart) {
  post(kPods, pod("web"));
  const std::string path = std::string(kPods) + "/web";
  ASSERT_EQ(mergePatch(path, R"({"status":{"phase":"Running"}})").status, 200);
  EXPECT_EQ(textAt(get(path).body, "status", "phase"), "Pending");
  ASSERT_EQ(
      mergePatch(path + "/status", R"({"status":{"phase":"Running"},"spec":{"nodeName":"n1"}})")
          .status,
      200);
  const auto now = get(path).body;
  EXPECT_EQ(textAt(now, "status", "phase"), "Running");
  EXPECT_EQ(at(now, "spec", "nodeName"), nullptr);
}

TEST_F(ObjectsTest, generationCountsChangesOfTheSpecOnly) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const auto made =
      post(deployments,
           R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
      {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(*at(made.body, "metadata", "generation"), 1);
  const auto path = deployments + "/d";
  EXPECT_EQ(
      *at(mergePatch(path, R"({"metadata":{"labels":{"x":"y"}}})").body, "metadata", "generation"),
      1);
  EXPECT_EQ(*at(mergePatch(path + "/status", R"({"status":{"replicas":3}})").body, "metadata",
                "generation"),
            1);
  EXPECT_EQ(*at(mergePatch(path, R"({"spec":{"replicas":3}})").body, "metadata", "generation"), 2);
}

TEST_F(ObjectsTest, everyKindOfPatchIsApplied) {
  post(kPods, pod("web"));
  const std::string path = std::string(kPods) + "/web";
  const auto strategic =
      strategicPatch(path, R"({"spec":{"containers":[{"name":"main","image":"busybox:2"}]}})");
  ASSERT_EQ(strategic.status, 200) << strategic.message();
  EXPECT_EQ(textAt(at(strategic.body, "spec", "containers")->get_array()[0], "image"), "busybox:2");
  const auto json =
      jsonPatch(path, R"([{"op":"add","path":"/metadata/labels","value":{"a":"b"}}])");
  EXPECT_EQ(textAt(json.body, "metadata", "labels", "a"), "b");
  const auto failed = jsonPatch(path, R"([{"op":"test","path":"/metadata/name","value":"other"}])");
  EXPECT_EQ(failed.status, 422);
  EXPECT_EQ(mergePatch(path, "{").status, 400);
}

TEST_F(ObjectsTest, aPodsSpecIsMostlyFixed) {
  post(kPods, pod("web"));
  const std::string path = std::string(kPods) + "/web";
  const auto changed = mergePatch(path, R"({"spec":{"restartPolicy":"Never"}})");
  EXPECT_EQ(changed.status, 422);
  EXPECT_THAT(changed.message(),
              HasSubstr("spec: Forbidden: pod updates may not change fields other than"));
  EXPECT_EQ(mergePatch(path, R"({"spec":{"activeDeadlineSeconds":5}})").status, 200);
}

TEST_F(ObjectsTest, aDryRunStoresNothing) {
  EXPECT_EQ(post(std::string(kPods) + "?dryRun=All", pod("web")).status, 201);
  EXPECT_EQ(get(std::string(kPods) + "/web").status, 404);
  post(kPods, pod("web"));
  const auto before = get(std::string(kPods) + "/web").body;
  EXPECT_EQ(request("PATCH", std::string(kPods) + "/web?dryRun=All",
                    R"({"metadata":{"labels":{"a":"b"}}})", "application/merge-patch+json")
                .status,
            200);
  EXPECT_EQ(remove(std::string(kPods) + "/web?dryRun=All", R"({"dryRun":["All"]})").status, 200);
  EXPECT_EQ(get(std::string(kPods) + "/web").body, before);
}

TEST_F(ObjectsTest, priorityComesFromThePriorityClass) {
  post("/apis/scheduling.k8s.io/v1/priorityclasses",
       R"({"metadata":{"name":"high"},"value":9000,"preemptionPolicy":"Never"})");
  const auto made = post(kPods, pod("web", R"(,"priorityClassName":"high")"));
  EXPECT_EQ(*at(made.body, "spec", "priority"), 9000);
  EXPECT_EQ(textAt(made.body, "spec", "preemptionPolicy"), "Never");
  EXPECT_EQ(*at(post(kPods, pod("plain")).body, "spec", "priority"), 0);
  EXPECT_EQ(*at(post(kPods, pod("critical", R"(,"priorityClassName":"system-node-critical")")).body,
                "spec", "priority"),
            2000001000);
  const auto missing = post(kPods, pod("lost", R"(,"priorityClassName":"none")"));
  EXPECT_EQ(missing.status, 403);
  EXPECT_EQ(missing.message(),
            "pods \"lost\" is forbidden: no PriorityClass with name none was found");
}

TEST_F(ObjectsTest, secretsTakeTheirDataAsTextToo) {
  const auto made = post("/api/v1/namespaces/default/secrets",
                         R"({"metadata":{"name":"s"},"stringData":{"key":"hello"}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(made.body, "data", "key"), "aGVsbG8=");
  EXPECT_EQ(find(made.body, "stringData"), nullptr);
  EXPECT_EQ(textAt(made.body, "type"), "Opaque");
}

TEST_F(ObjectsTest, bothKindsOfEventsAreOneSetOfObjects) {
  const auto made = post(
      "/apis/events.k8s.io/v1/namespaces/default/events",
      R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c","reportingInstance":"i",
                             "action":"a","reason":"R","note":"hello","type":"Normal","regarding":{"kind":"Pod","name":"web"}})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(textAt(made.body, "note"), "hello");
  const auto core = get("/api/v1/namespaces/default/events/e").body;
  EXPECT_EQ(textAt(core, "apiVersion"), "v1");
  EXPECT_EQ(textAt(core, "message"), "hello");
  EXPECT_EQ(textAt(core, "involvedObject", "name"), "web");
  const auto list = get("/apis/events.k8s.io/v1/events?fieldSelector=regarding.name=web").body;
  ASSERT_EQ(list.at("items").get_array().size(), 1u);
  EXPECT_EQ(textAt(list.at("items").get_array()[0], "regarding", "name"), "web");
}

TEST_F(ObjectsTest, aServerWithoutTheKindSaysSoAndNothingElseChanges) {
  EXPECT_EQ(
      post("/apis/example.com/v1/namespaces/default/gizmos", R"({"metadata":{"name":"g"}})").status,
      404);
  EXPECT_EQ(
      request("PATCH", std::string(kPods) + "/none", "{}", "application/merge-patch+json").status,
      404);
  EXPECT_EQ(remove(std::string(kPods) + "/none").status, 404);
}

}  // namespace
}  // namespace koord::apiserver::testing
