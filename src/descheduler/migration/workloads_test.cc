// Tests the limits by workload, for all kinds of controllers.

#include "descheduler/migration/world_test.h"

namespace koord::descheduler {
namespace {

using ::testing::HasSubstr;

constexpr api::ResourceType kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                         "CustomResourceDefinition", false};

// Defines a custom kind with spec.replicas and a scale.
void define(MigrationWorld& w, const char* group, const char* version, const char* plural,
            const char* kind) {
  w.api.put(kDefinitions,
            fmt::format(R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":)"
                        R"("CustomResourceDefinition","metadata":{{"name":"{2}.{0}"}},"spec":)"
                        R"({{"group":"{0}","scope":"Namespaced","names":{{"plural":"{2}",)"
                        R"("kind":"{3}"}},"versions":[{{"name":"{1}","served":true,"storage":true,)"
                        R"("subresources":{{"status":{{}},"scale":{{"specReplicasPath":)"
                        R"(".spec.replicas","statusReplicasPath":".status.replicas"}}}},"schema":)"
                        R"({{"openAPIV3Schema":{{"type":"object",)"
                        R"("x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
                        group, version, plural, kind));
  w.loop.advance(1s);
}

struct Owner {
  api::ResourceType type;
  std::string spec;
  std::string uid;  // "" = the object's uid
  bool there = true;
};

// The result of moving a pod of the owner: "" = a job was created.
std::string moved(MigrationWorld& w, const Owner& owner) {
  const std::string version = owner.type.group.empty()
                                  ? std::string(owner.type.version)
                                  : fmt::format("{}/{}", owner.type.group, owner.type.version);
  std::string uid = owner.uid.empty() ? "nobody" : owner.uid;
  if (owner.there) {
    w.api.put(owner.type,
              fmt::format(R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"own",)"
                          R"("namespace":"default"}},"spec":{}}})",
                          version, owner.type.kind, owner.spec));
    if (owner.uid.empty())
      uid = textAt(*w.api.get(owner.type, "own", "default"), "metadata", "uid");
  }
  const std::string owners =
      fmt::format(R"(,"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"own","uid":"{}",)"
                  R"("controller":true}}])",
                  version, owner.type.kind, uid);
  for (int i = 0; i < 4; ++i) w.pod("", fmt::format("own-{}", i), "n1", owners);
  w.start();
  if (!w.podOf("own-0")) return "there is no pod";
  const std::string answer = w.evict("own-0");
  return w.job(answer).metadata.uid.empty() ? answer : "";
}

std::string moved(const Owner& owner) {
  MigrationWorld w;
  return moved(w, owner);
}

const api::ResourceType kReplicationControllers{"", "v1", "replicationcontrollers",
                                                "ReplicationController", true};
const api::ResourceType kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet", true};
const api::ResourceType kJobs{"batch", "v1", "jobs", "Job", true};
const api::ResourceType kCloneSets{"apps.kruise.io", "v1alpha1", "clonesets", "CloneSet", true};
const api::ResourceType kGames{"games.example.com", "v2", "gameservers", "GameServer", true};
constexpr const char* kTemplate =
    R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";

std::string specOf(int replicas) {
  return fmt::format(R"({{"replicas":{},"selector":{{"matchLabels":{{"a":"b"}}}},{}}})", replicas,
                     kTemplate);
}
std::string withoutSelector(int replicas) {
  return fmt::format(R"({{"replicas":{},{}}})", replicas, kTemplate);
}
std::string jobSpec(int parallelism) {
  return fmt::format(
      R"({{"parallelism":{},"completions":9,"template":{{"spec":{{"restartPolicy":"Never",)"
      R"("containers":[{{"name":"c","image":"i"}}]}}}}}})",
      parallelism);
}

TEST(WorkloadsOfPods, arePlainOnesOfKubernetes) {
  EXPECT_EQ(moved({kReplicationControllers, withoutSelector(4), ""}), "");
  EXPECT_EQ(moved({kReplicationControllers, withoutSelector(1), ""}),
            "its workload has one replica");
  EXPECT_EQ(moved({kStatefulSets, specOf(4), ""}), "");
  EXPECT_EQ(moved({kJobs, jobSpec(4), ""}), "") << "upstream never moves pods of Jobs";
  EXPECT_EQ(moved({kJobs, jobSpec(1), ""}), "its workload has one replica");
}

TEST(WorkloadsOfPods, areThoseOfKruiseAndWhateverHasAScale) {
  MigrationWorld kruise, games, one;
  define(kruise, "apps.kruise.io", "v1alpha1", "clonesets", "CloneSet");
  EXPECT_EQ(moved(kruise, {kCloneSets, specOf(4), ""}), "");
  define(games, "games.example.com", "v2", "gameservers", "GameServer");
  EXPECT_EQ(moved(games, {kGames, specOf(4), ""}), "");
  define(one, "games.example.com", "v2", "gameservers", "GameServer");
  EXPECT_EQ(moved(one, {kGames, specOf(1), ""}), "its workload has one replica");
}

TEST(WorkloadsOfPods, thatAreNotThereOrAreOthersKeepThemWhereTheyAre) {
  const char* gone = "its workload does not exist";
  EXPECT_EQ(moved({kStatefulSets, "", "", false}), gone);
  EXPECT_EQ(moved({kReplicationControllers, "", "", false}), gone);
  EXPECT_EQ(moved({kReplicationControllers, withoutSelector(4), "of-another"}), gone);
  EXPECT_EQ(moved({kStatefulSets, specOf(4), "of-another"}), gone);
  EXPECT_EQ(moved({kCloneSets, "", "", false}), gone) << "without the definition";
}

TEST(WorkloadsOfPods, thatCannotBeReadKeepThemWhereTheyAre) {
  MigrationWorld w;
  w.api.failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.resource != "replicationcontrollers" || request.verb != kube::Verb::Get ||
        request.name != "own")
      return std::nullopt;
    return Error{ErrorCode::Forbidden, "no access"};
  };
  EXPECT_THAT(
      moved(w, {kReplicationControllers, "", "some", false}),
      HasSubstr("the number of replicas of its ReplicationController own cannot be read: "));
}

TEST(MigrationLimits, hold_for_the_cluster_and_for_a_namespace) {
  for (const bool globally : {false, true}) {
    MigrationWorld w;
    for (const char* name : {"a", "b"}) w.workload(name, 4);
    (globally ? w.args.maxMigratingGlobally : w.args.maxMigratingPerNamespace) = 1;
    w.args.maxMigratingPerNode = 0;
    w.reservationsGoTo = "";
    w.start();
    w.move("first", "a-0");
    w.run(2s);
    w.move("second", "b-0");
    w.run(2s);
    EXPECT_EQ(w.stateOf("second"),
              globally ? "Pending WaitingForArbitration: 1 pods are already being migrated "
                         "(maxMigratingGlobally: 1)"
                       : "Pending WaitingForArbitration: 1 pods of namespace default are already "
                         "being migrated (maxMigratingPerNamespace: 1)");
    EXPECT_THAT(w.evict("b-1"), HasSubstr("already being migrated (maxMigrating"));
    w.reservationsGoTo = "n2";
    w.run(20s);
    EXPECT_THAT(w.stateOf("second"), HasSubstr("Succeeded"));
  }
}

TEST(MigrationLimits, are_left_out_where_their_gates_are_skipped) {
  MigrationWorld w;
  for (const char* name : {"a", "b"}) w.workload(name, 4);
  w.args.maxMigratingGlobally = 1;
  w.args.maxMigratingPerNode = 1;
  w.args.skipGates = {"MaxMigratingGlobally", "MaxMigratingPerNode"};
  w.reservationsGoTo = "";
  w.start();
  for (const char* name : {"a", "b"}) w.move(name, std::string(name) + "-0");
  w.run(5s);
  for (const char* name : {"a", "b"}) EXPECT_THAT(w.stateOf(name), HasSubstr("Running"));
}

}  // namespace
}  // namespace koord::descheduler
