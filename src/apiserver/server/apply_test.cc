// managedFields of every kind of write, and server-side apply.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ApplyTest : public ServerTest {
 protected:
  Answer apply(const std::string& path, const std::string& body, const std::string& manager,
               const std::string& more = "") {
    return request("PATCH", path + "?fieldManager=" + manager + more, body,
                   "application/apply-patch+yaml");
  }
  // "manager operation[/subresource] fields", one for each entry.
  static std::vector<std::string> owners(const json::value& object) {
    std::vector<std::string> out;
    if (const auto* list = at(object, "metadata", "managedFields"))
      for (const auto& entry : list->get_array()) {
        std::string line(textAt(entry, "manager"));
        line += " ";
        line += textAt(entry, "operation");
        if (const auto sub = textAt(entry, "subresource"); !sub.empty())
          line += "/" + std::string(sub);
        out.push_back(line + " " + toJson(*find(entry, "fieldsV1")));
      }
    return out;
  }
  static std::string config(const std::string& data, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c")" + more +
           R"(},"data":)" + data + "}";
  }
  static std::vector<std::string> causes(const Answer& answer) {
    std::vector<std::string> out;
    if (const auto* list = at(answer.body, "details", "causes"))
      for (const auto& cause : list->get_array())
        out.push_back(std::string(textAt(cause, "reason")) + " " +
                      std::string(textAt(cause, "message")) + ": " +
                      std::string(textAt(cause, "field")));
    return out;
  }

  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr const char* kMap = "/api/v1/namespaces/default/configmaps/c";
};

TEST_F(ApplyTest, whoCreatesAnObjectOwnsWhatItSaid) {
  const auto made = post(std::string(kMaps) + "?fieldManager=maker", config(R"({"a":"1"})"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_THAT(owners(made.body), ElementsAre(R"(maker Update {"f:data":{".":{},"f:a":{}}})"));
  const auto& entry = at(made.body, "metadata", "managedFields")->get_array().front();
  EXPECT_EQ(textAt(entry, "apiVersion"), "v1");
  EXPECT_EQ(textAt(entry, "fieldsType"), "FieldsV1");
  EXPECT_EQ(textAt(entry, "time"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(owners(get(kMap).body), owners(made.body));
}

TEST_F(ApplyTest, whatTheServerAddsToAPodIsNobodys) {
  const auto made = post(std::string(kPods) + "?fieldManager=m", pod("web"));
  const auto owned = owners(made.body);
  ASSERT_EQ(owned.size(), 1u);
  EXPECT_THAT(owned[0], HasSubstr(R"("f:restartPolicy":{})"));  // a default
  EXPECT_THAT(owned[0], Not(HasSubstr("f:tolerations")));       // admission
  EXPECT_THAT(owned[0], Not(HasSubstr("f:status")));
  EXPECT_THAT(owned[0], Not(HasSubstr("f:uid")));
}

TEST_F(ApplyTest, aChangeMovesTheFieldToWhoChangedIt) {
  post(std::string(kMaps) + "?fieldManager=maker", config(R"({"a":"1","b":"1"})"));
  const auto changed = request("PATCH", std::string(kMap) + "?fieldManager=other",
                               R"({"data":{"b":"2","c":"3"}})", "application/merge-patch+json");
  EXPECT_THAT(owners(changed.body), ElementsAre(R"(maker Update {"f:data":{".":{},"f:a":{}}})",
                                                R"(other Update {"f:data":{"f:b":{},"f:c":{}}})"));
  const auto gone = request("PATCH", std::string(kMap) + "?fieldManager=third",
                            R"({"data":{"c":null}})", "application/merge-patch+json");
  EXPECT_THAT(owners(gone.body), ElementsAre(R"(maker Update {"f:data":{".":{},"f:a":{}}})",
                                             R"(other Update {"f:data":{"f:b":{}}})"));
}

TEST_F(ApplyTest, aWriteThatChangesNothingLeavesEverything) {
  const auto made = post(std::string(kMaps) + "?fieldManager=maker", config(R"({"a":"1"})"));
  loop.advance(std::chrono::seconds(5));
  const auto same = request("PATCH", std::string(kMap) + "?fieldManager=other",
                            R"({"data":{"a":"1"}})", "application/merge-patch+json");
  EXPECT_EQ(same.body, made.body);
  const auto put = request("PUT", std::string(kMap) + "?fieldManager=other", toJson(made.body));
  EXPECT_EQ(put.body, made.body);
}

TEST_F(ApplyTest, statusAndScaleAreOwnedAsSubresources) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const auto made =
      post(deployments + "?fieldManager=m",
           R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.message();
  const auto status = request("PATCH", deployments + "/d/status?fieldManager=controller",
                              R"({"status":{"replicas":1}})", "application/merge-patch+json");
  EXPECT_THAT(owners(status.body),
              ::testing::Contains(R"(controller Update/status {"f:status":{"f:replicas":{}}})"));
  request("PATCH", deployments + "/d/scale?fieldManager=person", R"({"spec":{"replicas":3}})",
          "application/merge-patch+json");
  EXPECT_THAT(owners(get(deployments + "/d").body),
              ::testing::Contains(R"(person Update/scale {"f:spec":{"f:replicas":{}}})"));
}

TEST_F(ApplyTest, aScaleIsAppliedToTheReplicasOfItsObject) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  ASSERT_EQ(
      apply(
          deployments + "/d",
          R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
          "owner")
          .status,
      201);
  const auto scale = [&](int replicas, const std::string& manager, const std::string& more = "") {
    return apply(deployments + "/d/scale",
                 R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},)"
                 R"("spec":{"replicas":)" +
                     std::to_string(replicas) + "}}",
                 manager, more);
  };
  const auto clash = scale(3, "scaler");
  EXPECT_EQ(clash.status, 409);
  EXPECT_EQ(clash.message(),
            R"(Apply failed with 1 conflict: conflict with "owner": .spec.replicas)");
  const auto forced = scale(3, "scaler", "&force=true");
  ASSERT_EQ(forced.status, 200) << forced.message();
  EXPECT_EQ(textAt(forced.body, "kind"), "Scale");
  EXPECT_EQ(*at(forced.body, "spec", "replicas"), 3);
  const auto object = get(deployments + "/d").body;
  EXPECT_EQ(*at(object, "spec", "replicas"), 3);
  EXPECT_THAT(owners(object),
              ElementsAre(::testing::AllOf(HasSubstr("owner Apply {"), Not(HasSubstr("replicas"))),
                          R"(scaler Apply/scale {"f:spec":{"f:replicas":{}}})"));
  // An update of the scale takes over the replicas, and an applier's conflict names the field of
  // the Scale.
  mergePatch(deployments + "/d/scale?fieldManager=person", R"({"spec":{"replicas":4}})");
  EXPECT_EQ(scale(5, "scaler").message(),
            R"(Apply failed with 1 conflict: conflict with "person" with subresource "scale" )"
            R"(using autoscaling/v1: .spec.replicas)");
  EXPECT_EQ(scale(6, "scaler", "&force=true&dryRun=All").body.at("spec"),
            json::value({{"replicas", 6}}));
  EXPECT_EQ(*at(get(deployments + "/d/scale").body, "spec", "replicas"), 4);
  EXPECT_EQ(scale(-1, "scaler", "&force=true").message(),
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater "
            "than or equal to 0");
  EXPECT_THAT(apply(deployments + "/d/scale",
                    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}})", "x")
                  .message(),
              HasSubstr("expected: autoscaling/v1"));
}

TEST_F(ApplyTest, fieldsOfEventsAreOwnedUnderTheNamesOfTheirGroup) {
  const std::string other = "/apis/events.k8s.io/v1/namespaces/default/events";
  const std::string core = "/api/v1/namespaces/default/events";
  const auto made = post(
      other + "?fieldManager=maker",
      R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","note":"n","reason":"R","action":"A","type":"Normal",
      "regarding":{"kind":"Pod","name":"p","namespace":"default"},"reportingController":"c","reportingInstance":"i"})");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_THAT(
      owners(made.body),
      ElementsAre(
          R"(maker Update {"f:action":{},"f:eventTime":{},"f:note":{},"f:reason":{},"f:regarding":{},"f:reportingController":{},"f:reportingInstance":{},"f:type":{}})"));
  EXPECT_EQ(textAt(at(made.body, "metadata", "managedFields")->get_array()[0], "apiVersion"),
            "events.k8s.io/v1");
  EXPECT_EQ(owners(get(core + "/e").body), owners(made.body));
  const auto changed = mergePatch(core + "/e?fieldManager=second", R"({"message":"m","count":2})");
  EXPECT_THAT(owners(changed.body),
              ElementsAre(::testing::AllOf(HasSubstr("maker Update"), Not(HasSubstr("f:note"))),
                          R"(second Update {"f:count":{},"f:message":{}})"));
  const auto back = mergePatch(other + "/e?fieldManager=third", R"({"note":"n2"})");
  EXPECT_EQ(textAt(back.body, "note"), "n2");
  EXPECT_THAT(owners(back.body), ::testing::IsSupersetOf({R"(second Update {"f:count":{}})",
                                                          R"(third Update {"f:note":{}})"}));
}

TEST_F(ApplyTest, bindingAPodOwnsNothing) {
  const auto made = post(std::string(kPods) + "?fieldManager=m", pod("web"));
  post(std::string(kPods) + "/web/binding?fieldManager=scheduler",
       R"({"metadata":{"name":"web"},"target":{"kind":"Node","name":"n1"}})");
  const auto bound = get(std::string(kPods) + "/web");
  EXPECT_EQ(textAt(bound.body, "spec", "nodeName"), "n1");
  EXPECT_EQ(owners(bound.body), owners(made.body));
}

TEST_F(ApplyTest, managedFieldsCanBeWrittenAndResetButNotForgotten) {
  post(std::string(kMaps) + "?fieldManager=maker", config(R"({"a":"1"})"));
  const auto forgotten = mergePatch(kMap, R"({"metadata":{"managedFields":[]}})");
  EXPECT_THAT(owners(forgotten.body), ElementsAre(HasSubstr("maker Update")));
  const auto renamed = jsonPatch(
      kMap, R"([{"op":"replace","path":"/metadata/managedFields/0/manager","value":"heir"},
                {"op":"replace","path":"/metadata/managedFields/0/operation","value":"Apply"}])");
  EXPECT_THAT(owners(renamed.body), ElementsAre(R"(heir Apply {"f:data":{".":{},"f:a":{}}})"));
  const auto reset = mergePatch(kMap, R"({"metadata":{"managedFields":[{}]}})");
  EXPECT_THAT(owners(reset.body), IsEmpty());
  // An update does not add owners to an object whose owners were reset.
  const auto later = mergePatch(kMap, R"({"data":{"b":"2"}})");
  EXPECT_THAT(owners(later.body), IsEmpty());
}

TEST_F(ApplyTest, manyUpdatersBecomeOne) {
  post(std::string(kMaps) + "?fieldManager=m0", config(R"({"k0":"1"})"));
  for (int i = 1; i < 13; ++i) {
    loop.advance(std::chrono::seconds(1));
    const auto n = std::to_string(i);
    request("PATCH", std::string(kMap) + "?fieldManager=m" + n, R"({"data":{"k)" + n + R"(":"1"}})",
            "application/merge-patch+json");
  }
  const auto owned = owners(get(kMap).body);
  ASSERT_EQ(owned.size(), 10u);
  EXPECT_EQ(
      owned[0],
      R"(ancient-changes Update {"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{},"f:k3":{}}})");
}

TEST_F(ApplyTest, applyingMakesAnObjectAndThenChangesIt) {
  const auto made = apply(kMap, config(R"({"a":"1","b":"1"})"), "me");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_THAT(owners(made.body), ElementsAre(R"(me Apply {"f:data":{"f:a":{},"f:b":{}}})"));
  const auto again = apply(kMap, config(R"({"a":"1","b":"1"})"), "me");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, made.body);
  // A dropped field without another owner is removed.
  const auto less = apply(kMap, config(R"({"a":"2"})"), "me");
  EXPECT_EQ(*find(less.body, "data"), parseJson(R"({"a":"2"})").value());
  EXPECT_THAT(owners(less.body), ElementsAre(R"(me Apply {"f:data":{"f:a":{}}})"));
}

TEST_F(ApplyTest, yamlCanBeApplied) {
  const auto made =
      apply(kMap, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '1'}\n", "me");
  EXPECT_EQ(made.status, 201) << made.message();
}

TEST_F(ApplyTest, aConflictNamesTheFieldsAndTheirOwners) {
  apply(kMap, config(R"({"a":"1","b":"1"})"), "one");
  mergePatch(std::string(kMap) + "?fieldManager=two", R"({"data":{"b":"2"}})");
  const auto single = apply(kMap, config(R"({"a":"3"})"), "three");
  EXPECT_EQ(single.status, 409);
  EXPECT_EQ(single.reason(), "Conflict");
  EXPECT_EQ(single.message(), R"(Apply failed with 1 conflict: conflict with "one": .data.a)");
  const auto several = apply(kMap, config(R"({"a":"3","b":"3"})"), "three");
  EXPECT_EQ(several.message(),
            "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.a\n"
            "conflicts with \"two\" using v1:\n- .data.b");
  EXPECT_THAT(causes(several),
              ElementsAre(R"(FieldManagerConflict conflict with "one": .data.a)",
                          R"(FieldManagerConflict conflict with "two" using v1: .data.b)"));
  const auto forced = apply(kMap, config(R"({"a":"3","b":"3"})"), "three", "&force=true");
  EXPECT_EQ(forced.status, 200);
  EXPECT_THAT(owners(forced.body), ElementsAre(R"(three Apply {"f:data":{"f:a":{},"f:b":{}}})"));
}

TEST_F(ApplyTest, theSameValueCanHaveSeveralOwners) {
  apply(kMap, config(R"({"a":"1"})"), "one");
  const auto both = apply(kMap, config(R"({"a":"1"})"), "two");
  EXPECT_EQ(both.status, 200) << both.message();
  EXPECT_THAT(owners(both.body), ElementsAre(HasSubstr("one Apply"), HasSubstr("two Apply")));
  // One of them drops the field: the value stays, the other owns it.
  const auto left = apply(kMap, config("{}"), "two");
  EXPECT_EQ(textAt(left.body, "data", "a"), "1");
  EXPECT_THAT(owners(left.body),
              ElementsAre(R"(one Apply {"f:data":{"f:a":{}}})", R"(two Apply {"f:data":{}})"));
}

TEST_F(ApplyTest, whoeverUpdatedKeepsWhatAnApplierLetsGo) {
  apply(kMap, config(R"({"a":"1"})"), "one");
  mergePatch(std::string(kMap) + "?fieldManager=two", R"({"data":{"a":"2"}})");
  const auto left = apply(kMap, config("{}"), "one");
  EXPECT_EQ(textAt(left.body, "data", "a"), "2");
}

TEST_F(ApplyTest, elementsOfListsAreOwnedByTheirKeys) {
  const std::string service = "/api/v1/namespaces/default/services/s";
  const auto body = [](const std::string& ports) {
    return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":)" +
           ports + "}}";
  };
  ASSERT_EQ(apply(service, body(R"([{"name":"a","port":80}])"), "one").status, 201);
  const auto two = apply(service, body(R"([{"name":"b","port":81,"protocol":"UDP"}])"), "two");
  ASSERT_EQ(two.status, 200) << two.message();
  EXPECT_EQ(at(two.body, "spec", "ports")->get_array().size(), 2u);
  EXPECT_THAT(
      owners(two.body),
      ElementsAre(
          R"x(one Apply {"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}}})x",
          R"x(two Apply {"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}})x"));
  const auto clash = apply(service, body(R"([{"name":"z","port":80}])"), "three");
  EXPECT_EQ(
      clash.message(),
      R"(Apply failed with 1 conflict: conflict with "one": .spec.ports[port=80,protocol="TCP"].name)");
  const auto gone = apply(service, body(R"([{"name":"c","port":82}])"), "one");
  ASSERT_EQ(gone.status, 200) << gone.message();
  EXPECT_EQ(at(gone.body, "spec", "ports")->get_array().size(), 2u);
}

TEST_F(ApplyTest, whatCannotBeAppliedIsRefused) {
  EXPECT_EQ(request("PATCH", kMap, config("{}"), "application/apply-patch+yaml").message(),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required "
            "for apply patch");
  EXPECT_EQ(apply(kMap, config("{}", R"(,"managedFields":[])"), "me").message(),
            "metadata.managedFields must be nil");
  EXPECT_EQ(
      apply(kMap, R"({"apiVersion":"v2","kind":"ConfigMap"})", "me").message(),
      "Incorrect version specified in apply patch. Specified patch version: v2, expected: v1");
  EXPECT_EQ(apply(kMap, R"({"apiVersion":"v1","kind":"ConfigMap","spec":1})", "me").message(),
            "failed to create typed patch object (default/c; v1, Kind=ConfigMap): .spec: field not "
            "declared in schema");
  EXPECT_EQ(
      apply(kMap, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}})", "me").status,
      400);
  EXPECT_EQ(mergePatch(std::string(kMap) + "?force=true", "{}").status, 422);
  EXPECT_EQ(get(kMap).status, 404);
}

TEST_F(ApplyTest, versionAndUidArePreconditions) {
  apply(kMap, config(R"({"a":"1"})"), "me");
  EXPECT_EQ(apply(kMap, config(R"({"a":"2"})", R"(,"resourceVersion":"1")"), "me").status, 409);
  EXPECT_EQ(apply(kMap, config(R"({"a":"2"})", R"(,"uid":"other")"), "me").status, 409);
  EXPECT_EQ(textAt(get(kMap).body, "data", "a"), "1");
  EXPECT_EQ(
      apply(std::string(kMaps) + "/new",
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","uid":"u"}})", "me")
          .status,
      409);
}

TEST_F(ApplyTest, aDryRunStoresNothing) {
  const auto tried = apply(kMap, config(R"({"a":"1"})"), "me", "&dryRun=All");
  EXPECT_EQ(tried.status, 201);
  EXPECT_THAT(owners(tried.body), ElementsAre(HasSubstr("me Apply")));
  EXPECT_EQ(get(kMap).status, 404);
}

TEST_F(ApplyTest, fieldsOfNobodyBelongToTheTimeBeforeTheFirstApply) {
  post(kMaps, config(R"({"a":"1"})"));
  mergePatch(kMap, R"({"metadata":{"managedFields":[{}]}})");
  const auto clash = apply(kMap, config(R"({"a":"2"})"), "me");
  EXPECT_EQ(
      clash.message(),
      R"(Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a)");
}

TEST_F(ApplyTest, kubectlTakesOverWhatItAppliedOnTheClient) {
  const std::string last =
      R"(,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\"}}"})";
  post(std::string(kMaps) + "?fieldManager=kubectl-client-side-apply",
       config(R"({"a":"1"})", last));
  const auto other = apply(kMap, config(R"({"a":"2"})"), "me");
  EXPECT_EQ(other.status, 409);
  const auto own = apply(kMap, config(R"({"a":"2"})"), "kubectl");
  EXPECT_EQ(own.status, 200) << own.message();
  EXPECT_THAT(std::string(textAt(own.body, "metadata", "annotations",
                                 "kubectl.kubernetes.io/last-applied-configuration")),
              HasSubstr(R"("data":{"a":"2"})"));
}

TEST_F(ApplyTest, customObjectsMergeByTheirSchema) {
  post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       R"({"metadata":{"name":"gizmos.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo"},
    "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
      "spec":{"type":"object","properties":{"size":{"type":"integer","default":3},
        "parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],
          "items":{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}}}},
        "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
        "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
        "whole":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}}}},
      "status":{"type":"object","properties":{"ready":{"type":"boolean"}}}}}}}]}})");
  const std::string path = "/apis/example.com/v1/namespaces/default/gizmos/g";
  const auto body = [](const std::string& spec, const std::string& more = "") {
    return R"({"apiVersion":"example.com/v1","kind":"Gizmo","metadata":{"name":"g"},"spec":)" +
           spec + more + "}";
  };
  const auto one = apply(
      path,
      body(R"({"parts":[{"id":"a","n":1}],"tags":["x"],"free":{"p":{"q":1}},"whole":{"k":"1"}})",
           R"(,"status":{"ready":true})"),
      "one");
  ASSERT_EQ(one.status, 201) << one.message();
  EXPECT_EQ(*at(one.body, "spec", "size"), 3);
  EXPECT_EQ(find(one.body, "status"), nullptr);
  EXPECT_THAT(
      owners(one.body),
      ElementsAre(
          R"x(one Apply {"f:spec":{"f:free":{"f:p":{".":{},"f:q":{}}},"f:parts":{"k:{\"id\":\"a\"}":{".":{},"f:id":{},"f:n":{}}},"f:tags":{"v:\"x\"":{}},"f:whole":{}}})x"));
  const auto two =
      apply(path, body(R"({"parts":[{"id":"b"}],"tags":["y"],"free":{"r":2}})"), "two");
  ASSERT_EQ(two.status, 200) << two.message();
  EXPECT_EQ(*at(two.body, "spec", "tags"), parseJson(R"(["x","y"])").value());
  EXPECT_EQ(*at(two.body, "spec", "free"), parseJson(R"({"p":{"q":1},"r":2})").value());
  const auto status = apply(
      path + "/status",
      R"({"apiVersion":"example.com/v1","kind":"Gizmo","metadata":{"name":"g"},"status":{"ready":true}})",
      "two");
  ASSERT_EQ(status.status, 200) << status.message();
  EXPECT_THAT(owners(status.body),
              ::testing::Contains(R"(two Apply/status {"f:status":{"f:ready":{}}})"));
  const auto clash = apply(path, body(R"({"whole":{"k":"2"}})"), "two");
  EXPECT_THAT(clash.message(), HasSubstr(".spec.whole"));
}

}  // namespace
}  // namespace koord::apiserver::testing
