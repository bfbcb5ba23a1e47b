// Which fields of a pod may change, and how; which are set at creation and binding.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PodUpdateTest : public ServerTest {
 protected:
  static std::string pathOf(const std::string& name) { return std::string(kPods) + "/" + name; }

  // A pod with these resources for its container, and `more` in the spec.
  std::string sized(const std::string& name, const std::string& resources,
                    const std::string& more = "") {
    const auto made =
        post(kPods, R"({"metadata":{"name":")" + name +
                        R"("},"spec":{"containers":[{"name":"main","image":"web:1","resources":)" +
                        resources + "}]" + more + "}}");
    EXPECT_EQ(made.status, 201) << made.message();
    return pathOf(name);
  }
  Answer resize(const std::string& path, const std::string& resources) {
    return strategicPatch(
        path + "/resize",
        R"({"spec":{"containers":[{"name":"main","resources":)" + resources + "}]}}");
  }
  static std::int64_t generation(const Answer& answer) {
    return at(answer.body, "metadata", "generation")->get_int64();
  }
};

TEST_F(PodUpdateTest, tolerationsCanBeAddedAndKeptLonger) {
  post(kPods, pod("web"));
  // The two default tolerations come back.
  const auto added =
      mergePatch(pathOf("web"), R"({"spec":{"tolerations":[{"key":"disk","operator":"Exists"}]}})");
  ASSERT_EQ(added.status, 200) << added.message();
  EXPECT_EQ(at(added.body, "spec", "tolerations")->get_array().size(), 3u);
  const auto longer = mergePatch(pathOf("web"),
                                 R"({"spec":{"tolerations":[{"key":"disk","operator":"Exists"},
        {"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
         "tolerationSeconds":5}]}})");
  EXPECT_EQ(longer.status, 200) << longer.message();
  const auto gone = mergePatch(pathOf("web"), R"({"spec":{"tolerations":[]}})");
  EXPECT_EQ(gone.status, 422);
  EXPECT_EQ(gone.message(),
            "Pod \"web\" is invalid: spec.tolerations: Forbidden: existing toleration can not be "
            "modified except its tolerationSeconds");
}

TEST_F(PodUpdateTest, ephemeralContainersAreOnlyAddedAndByTheirSubresource) {
  post(kPods, pod("web"));
  const auto add = [&](const std::string& container) {
    return strategicPatch(
        pathOf("web") + "/ephemeralcontainers",
        R"({"metadata":{"labels":{"x":"y"}},"spec":{"ephemeralContainers":[)" + container + "]}}");
  };
  const auto added = add(R"({"name":"debug","image":"busybox","stdin":true})");
  ASSERT_EQ(added.status, 200) << added.message();
  const auto* containers = at(added.body, "spec", "ephemeralContainers");
  ASSERT_TRUE(containers && containers->is_array() && containers->get_array().size() == 1);
  EXPECT_EQ(textAt(containers->get_array()[0], "imagePullPolicy"), "Always");
  EXPECT_FALSE(at(added.body, "metadata", "labels", "x")) << "only the containers change";
  EXPECT_EQ(get(pathOf("web") + "/ephemeralcontainers").status, 200);
  ASSERT_EQ(add(R"({"name":"more","image":"busybox","targetContainerName":"main"})").status, 200);

  const auto says = [&](const Answer& answer, const std::string& words) {
    EXPECT_EQ(answer.status, 422);
    EXPECT_THAT(answer.message(), HasSubstr(words));
  };
  says(add(R"({"name":"debug","image":"other"})"),
       "existing ephemeral containers \"debug\" may not be changed");
  says(jsonPatch(pathOf("web") + "/ephemeralcontainers",
                 R"([{"op":"remove","path":"/spec/ephemeralContainers/0"}])"),
       "may not be removed");
  says(add(R"({"name":"main","image":"busybox"})"),
       "spec.ephemeralContainers[0].name: Duplicate value: \"main\"");
  says(add(R"({"name":"c","image":"b","ports":[{"containerPort":80}]})"),
       "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container");
  says(add(R"({"name":"c","image":"b","targetContainerName":"none"})"),
       "spec.ephemeralContainers[0].targetContainerName: Not found: \"none\"");
  says(add(R"({"name":"c"})"), "spec.ephemeralContainers[0].image: Required value");
  says(mergePatch(pathOf("web"), R"({"spec":{"ephemeralContainers":[]}})"),
       "pod updates may not change fields");
  says(post(kPods, R"({"metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"b"}],
                       "ephemeralContainers":[{"name":"c","image":"b"}]}})"),
       "spec.ephemeralContainers: Forbidden: cannot be set on create");
}

TEST_F(PodUpdateTest, whatMayNotChangeIsNamed) {
  post(kPods, pod("web"));
  struct Case {
    const char* patch;
    const char* expected;
  };
  const Case cases[] = {
      {R"({"spec":{"hostNetwork":true}})",
       "Pod \"web\" is invalid: spec: Forbidden: pod updates may not change fields other than "
       "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
       "`spec.tolerations` (only additions to existing tolerations),"
       "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
       "negative)\nspec.hostNetwork: nothing -> true"},
      {R"({"spec":{"nodeName":"a"}})", "Pod \"web\" is invalid: spec: Forbidden: pod updates"},
      {R"({"spec":{"terminationGracePeriodSeconds":1}})",
       "Pod \"web\" is invalid: spec: Forbidden: pod updates"},
      {R"({"spec":{"nodeSelector":{"a":"b"}}})",
       "Pod \"web\" is invalid: spec: Forbidden: pod updates"},
      {R"({"spec":{"containers":[{"name":"main","image":"x","resources":{"requests":{"cpu":"1"}}}]}})",
       "Pod \"web\" is invalid: spec: Forbidden: pod updates"},
      {R"({"spec":{"containers":[{"name":"main","image":"x"},{"name":"more","image":"x"}]}})",
       "Pod \"web\" is invalid: spec.containers: Forbidden: pod updates may not add or remove "
       "containers"},
      {R"({"spec":{"schedulingGates":[{"name":"g"}]}})",
       "Pod \"web\" is invalid: spec.schedulingGates[0].name: Forbidden: only deletion is "
       "allowed, but found new scheduling gate 'g'"}};
  for (const auto& [patch, expected] : cases) {
    const auto refused = mergePatch(pathOf("web"), patch);
    EXPECT_EQ(refused.status, 422) << patch;
    EXPECT_THAT(refused.message(), StartsWith(expected)) << patch;
  }
}

TEST_F(PodUpdateTest, imagesChangeAndTheDeadlineComesCloser) {
  const auto made = post(kPods, pod("web", R"(,"terminationGracePeriodSeconds":-1)"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(generation(made), 1);
  const auto image =
      strategicPatch(pathOf("web"), R"({"spec":{"containers":[{"name":"main","image":"web:2"}]}})");
  EXPECT_EQ(image.status, 200) << image.message();
  EXPECT_EQ(generation(image), 2);
  EXPECT_EQ(generation(mergePatch(pathOf("web"), R"({"metadata":{"labels":{"a":"b"}}})")), 2);
  EXPECT_EQ(mergePatch(pathOf("web"), R"({"spec":{"terminationGracePeriodSeconds":1}})").status,
            200);
  EXPECT_EQ(mergePatch(pathOf("web"), R"({"spec":{"activeDeadlineSeconds":9}})").status, 200);
  EXPECT_EQ(mergePatch(pathOf("web"), R"({"spec":{"activeDeadlineSeconds":10}})").message(),
            "Pod \"web\" is invalid: spec.activeDeadlineSeconds: Invalid value: 10: must be less "
            "than or equal to previous value");
  EXPECT_EQ(mergePatch(pathOf("web"), R"({"spec":{"activeDeadlineSeconds":null}})").message(),
            "Pod \"web\" is invalid: spec.activeDeadlineSeconds: Invalid value: null: must not "
            "update from a positive integer to nil value");
}

TEST_F(PodUpdateTest, aGatedPodCanOnlyBeToldMoreNarrowlyWhereToGo) {
  const auto term = [](const std::string& expressions) {
    return R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[)" +
           expressions + "]}]}}}";
  };
  const std::string zone = R"({"key":"zone","operator":"Exists"})";
  const std::string disk = R"({"key":"disk","operator":"Exists"})";
  post(kPods,
       pod("web", R"(,"schedulingGates":[{"name":"g"}],"nodeSelector":{"a":"b"},"affinity":)" +
                      term(zone)));
  const auto path = pathOf("web");
  EXPECT_EQ(mergePatch(path, R"({"spec":{"nodeSelector":{"c":"d"}}})").status, 200);
  EXPECT_EQ(mergePatch(path, R"({"spec":{"affinity":)" + term(zone + "," + disk) + "}}").status,
            200);
  EXPECT_EQ(mergePatch(path, R"({"spec":{"nodeSelector":{"a":null}}})").message(),
            "Pod \"web\" is invalid: spec.nodeSelector: Invalid value: {\"c\":\"d\"}: only "
            "additions to spec.nodeSelector are allowed (no mutations or deletions)");
  EXPECT_THAT(mergePatch(path, R"({"spec":{"affinity":)" + term(disk) + "}}").message(),
              HasSubstr("nodeSelectorTerms[0]: Invalid value: "));
  EXPECT_THAT(mergePatch(path, R"({"spec":{"affinity":null}})").message(),
              HasSubstr("no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
  EXPECT_THAT(mergePatch(path, R"({"spec":{"affinity":{"podAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}}})")
                  .message(),
              HasSubstr("pod updates may not change fields"));
  EXPECT_EQ(mergePatch(path, R"({"spec":{"schedulingGates":null}})").status, 200);
  EXPECT_EQ(mergePatch(path, R"({"spec":{"nodeSelector":{"e":"f"}}})").status, 422);
}

TEST_F(PodUpdateTest, aResizeToWhatIsNoContainerIsRefused) {
  const auto path = sized("web", R"({"requests":{"cpu":"1"}})");
  // null is read as a container without a name.
  for (const auto& [odd, status] :
       {std::pair("null", 422), {"\"x\"", 400}, {"[]", 400}, {"1", 400}}) {
    const std::string list = std::string("[") + odd + "]";
    EXPECT_EQ(mergePatch(path + "/resize", R"({"spec":{"containers":)" + list + "}}").status,
              status)
        << odd;
    EXPECT_EQ(jsonPatch(path + "/resize",
                        R"([{"op":"replace","path":"/spec/containers","value":)" + list + "}]")
                  .status,
              status)
        << odd;
    EXPECT_EQ(mergePatch(path, R"({"spec":{"nodeSelector":)" + list + "}}").status, 400) << odd;
  }
  EXPECT_EQ(get(path).status, 200);
}

TEST_F(PodUpdateTest, aResizeChangesCpuAndMemoryOnly) {
  const auto path = sized("web", R"({"requests":{"cpu":"1","memory":"1Gi","example.com/gpu":"1"},
                       "limits":{"cpu":"2","memory":"2Gi","example.com/gpu":"1"}})");
  // Ignores all other fields.
  const auto resized =
      strategicPatch(path + "/resize",
                     R"({"metadata":{"labels":{"a":"b"}},"spec":{"hostNetwork":true,"containers":[
        {"name":"main","image":"web:2","resources":{"requests":{"cpu":"1500m"},
         "limits":{"memory":"1Gi"}}}]}})");
  ASSERT_EQ(resized.status, 200) << resized.message();
  EXPECT_EQ(generation(resized), 2);
  EXPECT_EQ(at(resized.body, "metadata", "labels"), nullptr);
  EXPECT_EQ(at(resized.body, "spec", "hostNetwork"), nullptr);
  const auto& main = at(resized.body, "spec", "containers")->get_array()[0];
  EXPECT_EQ(textAt(main, "image"), "web:1");
  EXPECT_EQ(textAt(main, "resources", "requests", "cpu"), "1500m");
  EXPECT_EQ(textAt(main, "resources", "limits", "memory"), "1Gi");
  EXPECT_EQ(generation(get(path + "/resize")), 2);

  EXPECT_EQ(resize(path, R"({"requests":{"example.com/gpu":"2"},"limits":{"example.com/gpu":"2"}})")
                .message(),
            "Pod \"web\" is invalid: spec: Forbidden: only cpu and memory resources are mutable");
  const auto burst = sized("burst", R"({"requests":{"cpu":"1","memory":"1Gi"}})");
  EXPECT_EQ(resize(burst, R"({"requests":{"memory":null}})").message(),
            "Pod \"burst\" is invalid: spec.containers[0].resources.requests: Forbidden: resource "
            "requests cannot be removed");
  EXPECT_EQ(resize(path, R"({"limits":{"cpu":null}})").message(),
            "Pod \"web\" is invalid: spec.containers[0].resources.limits: Forbidden: resource "
            "limits cannot be removed");
  EXPECT_THAT(resize(path, R"({"requests":{"cpu":"3"}})").message(),
              HasSubstr("must be less than or equal to cpu limit of 2"));
}

TEST_F(PodUpdateTest, aResizeKeepsTheClassOfQuality) {
  const auto best = sized("best", "{}");
  EXPECT_EQ(resize(best, R"({"requests":{"cpu":"1"}})").message(),
            "Pod \"best\" is invalid: spec: Invalid value: \"BestEffort\": Pod QOS Class may not "
            "change as a result of resizing");
  const auto whole = sized("whole", R"({"limits":{"cpu":"1","memory":"1Gi"}})");
  EXPECT_EQ(resize(whole, R"({"requests":{"cpu":"500m"}})").status, 422);
  EXPECT_EQ(resize(whole, R"({"requests":{"cpu":"500m"},"limits":{"cpu":"500m"}})").status, 200);
}

TEST_F(PodUpdateTest, aResizeOfInitContainersAndOldNodesIsRefused) {
  const auto path =
      sized("web", R"({"requests":{"cpu":"1"}})",
            R"(,"initContainers":[{"name":"first","image":"i","resources":{"requests":{"cpu":"1"}}},
          {"name":"side","image":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}])");
  const auto init = [&](const std::string& name) {
    return strategicPatch(path + "/resize", R"({"spec":{"initContainers":[{"name":")" + name +
                                                R"(","resources":{"requests":{"cpu":"2"}}}]}})");
  };
  EXPECT_EQ(init("first").message(),
            "Pod \"web\" is invalid: spec: Forbidden: resources for non-sidecar init containers "
            "are immutable");
  EXPECT_EQ(init("side").status, 200);
  mergePatch(path + "/status",
             R"({"status":{"containerStatuses":[{"name":"main","state":{"running":{}}}]}})");
  EXPECT_EQ(resize(path, R"({"requests":{"cpu":"2"}})").message(),
            "Pod \"web\" is invalid: spec: Forbidden: Pod running on node without support for "
            "resize");
}

TEST_F(PodUpdateTest, aResizeIsCountedByQuotas) {
  post("/api/v1/namespaces/default/resourcequotas",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.cpu":"2"}}})");
  const auto path = sized("web", R"({"requests":{"cpu":"1"}})");
  EXPECT_EQ(resize(path, R"({"requests":{"cpu":"2"}})").status, 200);
  const auto over = resize(path, R"({"requests":{"cpu":"3"}})");
  EXPECT_EQ(over.status, 403);
  EXPECT_THAT(over.message(), HasSubstr("exceeded quota: q"));
}

TEST_F(PodUpdateTest, labelKeysOfTermsBecomeExpressionsOnce) {
  const auto made = post(kPods, pod("web",
                                    R"(,"affinity":{"podAffinity":
      {"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":
        {"topologyKey":"zone","labelSelector":{},"matchLabelKeys":["hash"]}}]},"podAntiAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",
        "labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["hash","none"],
        "mismatchLabelKeys":["tenant"]},{"topologyKey":"host","matchLabelKeys":["hash"]}]}},
      "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":
        "DoNotSchedule","labelSelector":{},"matchLabelKeys":["hash"]}])",
                                    R"({"app":"web","hash":"1","tenant":"t"})"));
  ASSERT_EQ(made.status, 201) << made.message();
  const std::string in = R"({"key":"hash","operator":"In","values":["1"]})";
  const auto& affinity = *at(made.body, "spec", "affinity");
  EXPECT_EQ(toJson(*at(affinity.at("podAffinity")
                           .at("preferredDuringSchedulingIgnoredDuringExecution")
                           .get_array()[0],
                       "podAffinityTerm", "labelSelector", "matchExpressions")),
            "[" + in + "]");
  const auto& terms = affinity.at("podAntiAffinity")
                          .at("requiredDuringSchedulingIgnoredDuringExecution")
                          .get_array();
  EXPECT_EQ(toJson(*at(terms[0], "labelSelector", "matchExpressions")),
            "[" + in + R"(,{"key":"tenant","operator":"NotIn","values":["t"]}])");
  EXPECT_EQ(find(terms[1], "labelSelector"), nullptr) << "nothing matches nothing";
  const auto& spread = at(made.body, "spec", "topologySpreadConstraints")->get_array()[0];
  EXPECT_EQ(toJson(*at(spread, "labelSelector", "matchExpressions")), "[" + in + "]");
  const auto later = mergePatch(pathOf("web"), R"({"metadata":{"labels":{"hash":"2"}}})");
  EXPECT_EQ(*at(later.body, "spec", "affinity"), affinity);
}

TEST_F(PodUpdateTest, aBindingClearsTheNominationAndBringsItsLabels) {
  post(kPods, pod("web", "", R"({"zone":"old"})"));
  mergePatch(pathOf("web") + "/status", R"({"status":{"nominatedNodeName":"b"}})");
  const auto bound = post(pathOf("web") + "/binding",
                          R"({"metadata":{"name":"web","annotations":{"a":"1"},
        "labels":{"zone":"new"}},"target":{"kind":"Node","name":"a"}})");
  ASSERT_EQ(bound.status, 201) << bound.message();
  const auto now = get(pathOf("web"));
  EXPECT_EQ(textAt(now.body, "spec", "nodeName"), "a");
  EXPECT_EQ(at(now.body, "status", "nominatedNodeName"), nullptr);
  EXPECT_EQ(textAt(now.body, "metadata", "annotations", "a"), "1");
  EXPECT_EQ(textAt(now.body, "metadata", "labels", "zone"), "new");
  EXPECT_EQ(generation(now), 1);
}

TEST_F(PodUpdateTest, aStatusShowsItsZerosAndKeepsItsClass) {
  post(kPods, pod("web"));
  const auto status =
      mergePatch(pathOf("web") + "/status",
                 R"({"status":{"containerStatuses":[{"name":"main","state":{"terminated":{}}}]}})");
  ASSERT_EQ(status.status, 200) << status.message();
  EXPECT_EQ(toJson(*at(status.body, "status", "containerStatuses")),
            R"([{"name":"main","state":{"terminated":{"exitCode":0}},"image":"","imageID":"",)"
            R"("lastState":{},"ready":false,"restartCount":0}])");
  EXPECT_EQ(textAt(status.body, "status", "qosClass"), "BestEffort");
  EXPECT_EQ(
      mergePatch(pathOf("web") + "/status", R"({"status":{"qosClass":"Guaranteed"}})").message(),
      "Pod \"web\" is invalid: status.qosClass: Invalid value: \"Guaranteed\": field is immutable");
}

}  // namespace
}  // namespace koord::apiserver::testing
