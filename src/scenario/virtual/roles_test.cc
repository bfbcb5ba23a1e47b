// The shipped roles allow what programs need, as the scenarios show, and nothing else: after all
// tests of this program, each verb of each role was used, or is in the list below with a reason.

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "api/admission.h"
#include "api/group_version.h"
#include "apiserver/authn/service_account_tokens.h"
#include "apiserver/role_api.h"
#include "base/random.h"
#include "base/virtual_loop.h"
#include "kube/client.h"
#include "kube/leader_election.h"
#include "kube/request_guard.h"
#include "manager/webhook/certificate_controller.h"
#include "net/fake_responder.h"
#include "scenario/test_file.h"
#include "scenario/virtual/role_uses.h"

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;

const std::filesystem::path kManifestFolder =
    std::filesystem::path(KOORD_SOURCE_DIR) / "deploy" / "manifests";

constexpr const char* kPrograms[] = {"manager", "scheduler", "descheduler"};

// A permission that no test uses, and the reason why the role has it.
struct Exemption {
  const char* program;
  const char* verb;  // as RoleUse::unused writes it
  const char* reason;
};
constexpr Exemption kExemptions[] = {
    {"manager", "get namespaces", "one that is so new that no watch has told of it"},
    {"manager", "patch recommendations analysis.koordinator.sh",
     "what was learnt, each ten minutes"},
    {"scheduler", "create pods/eviction", "from quotas that are overused for long; off by default"},
    {"scheduler", "patch nodes", "the lock of HAMi"},
    {"scheduler", "delete resourceclaims resource.k8s.io", "of extended resources"},
    {"scheduler", "list devicetaintrules resource.k8s.io", "where the server has the kind"},
    {"scheduler", "watch devicetaintrules resource.k8s.io", "the same"},
    {"scheduler", "patch resourceclaims/binding resource.k8s.io", "where the server asks for it"},
    {"scheduler", "update resourceclaims/binding resource.k8s.io", "the same"},
    {"scheduler", "update pods/finalizers", "owner of claims of extended resources"},
    {"scheduler", "update resourceclaims resource.k8s.io", "upstream's role"},
    {"scheduler", "update resourceclaims/status resource.k8s.io", "the same"},
    {"scheduler", "post /apis/v1/simulations", "of users, in the role koord-scheduler-simulate"},
    {"descheduler", "post /apis/v1/whatif/*", "asked of koord-scheduler, which asks the server"},
    {"descheduler", "patch nodes", "CustomPriority's cordon; off by default"},
    {"descheduler", "get replicationcontrollers", "owners of pods of other kinds"},
    {"descheduler", "get jobs batch", "the same"},
    {"descheduler", "get * apps.kruise.io", "the same"},
    {"descheduler", "get */scale *", "the same"},
    {"descheduler", "list persistentvolumeclaims", "DefaultEvictor, by classes of volumes"},
    {"descheduler", "watch persistentvolumeclaims", "the same"},
    {"descheduler", "watch poddisruptionbudgets policy",
     "DefaultEvictor, of pods without a budget"},
};

// Actions of programs outside of scenarios: leader election, certificates, access reviews.
class RolesTest : public testing::Test {
 protected:
  RolesTest() {
    apiserver::ServerOptions options;
    options.inlineCommits = true;
    options.rbac = true;
    server_ = apiserver::Server::open(loop_, std::move(options)).value();
    admin_.emplace(*server_, loop_);
    for (const char* file : {"00-namespace.yaml", "*-rbac.yaml", "manager-webhooks.yaml"}) {
      const auto objects = readResources(kManifestFolder, file);
      EXPECT_TRUE(objects) << objects.error().message;
      for (const auto& object : *objects) create(object);
    }
  }
  ~RolesTest() override { loop_.runReady(); }

  void create(const json::value& object) {
    const auto found = server_->registry().findByKind(
        api::splitApiVersion(textAt(object, "apiVersion")).group, textAt(object, "kind"));
    ASSERT_TRUE(found) << toJson(object);
    const api::ResourceType type{found->group, found->storageVersion().name, found->plural,
                                 found->kind, found->namespaced};
    run(kube::createObject(*admin_, type,
                           {std::string(textAt(object, "metadata", "namespace")), ""}, object));
  }
  template <class T>
  void run(Task<Result<T>> task) {
    std::optional<Result<T>> result;
    TaskGroup tasks;
    tasks.spawn(keep(std::move(task), &result));
    loop_.runReady();
    ASSERT_TRUE(result);
    ASSERT_TRUE(*result) << result->error().message;
  }
  template <class T>
  static Task<void> keep(Task<Result<T>> task, std::optional<Result<T>>* into) {
    auto result = co_await task;
    *into = std::move(result);
  }
  apiserver::RoleApi as(const std::string& program) {
    const std::string account = "koord-" + program;
    return {*server_, loop_, apiserver::serviceAccountUser("koordinator-system", account),
            [account](const std::string& why) { ADD_FAILURE() << account << ": " << why; },
            &roleUses()[account]};
  }

  VirtualLoop loop_;
  std::unique_ptr<apiserver::Server> server_;
  std::optional<apiserver::LocalApi> admin_;
};

TEST_F(RolesTest, EachProgramCanLead) {
  for (const std::string program : kPrograms) {
    auto api = as(program);
    bool leads = false;
    kube::LeaderElectionOptions options{.leaseName = "of-" + program, .identity = "a"};
    kube::LeaderElector elector(api, loop_, options, Random(1), [&] { leads = true; }, [] {});
    elector.start();
    loop_.advance(1min);
    EXPECT_TRUE(leads) << program;
    bool released = false;
    elector.release([&] { released = true; });
    loop_.advance(1s);
    EXPECT_TRUE(released) << program;
  }
}

TEST_F(RolesTest, CertificatesAreMadeWhereTheSecretIsEmptyAndWhereItIsGone) {
  auto api = as("manager");
  for (const bool empty : {true, false}) {
    if (!empty)
      run(kube::deleteObject(*admin_, api::Secret::kType,
                             {"koordinator-system", "koordinator-webhook-certs"}));
    manager::CertificateController controller(
        api, loop_, {}, {"/mutate-pod"}, Random(1),
        [](const manager::WebhookCerts&) { return Result<>(); });
    controller.start();
    loop_.advance(1min);
    EXPECT_TRUE(controller.initialised()) << controller.problem();
  }
}

TEST_F(RolesTest, WhoMayLookIsAskedOfTheServer) {
  auto api = as("descheduler");
  kube::RequestGuard guard(loop_, &api, &api, {});
  for (const char* token : {"", "Bearer forged"}) {
    net::ServerRequest request{.method = "GET", .target = "/metrics"};
    if (*token) request.headers.push_back({"Authorization", token});
    const auto responder = std::make_shared<net::FakeResponder>();
    guard.around([](net::ServerRequest, std::shared_ptr<net::Responder>) { FAIL(); })(
        std::move(request), responder);
    loop_.advance(1s);
    EXPECT_EQ(responder->status, *token ? 401 : 403);
  }
}

std::string joined(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// After the last test, if all tests ran.
class NoUnusedPermission : public testing::Environment {
 public:
  void TearDown() override {
    const auto& all = *testing::UnitTest::GetInstance();
    if (all.test_to_run_count() != all.total_test_count()) return;
    for (const std::string program : kPrograms) {
      const auto roles = readResources(kManifestFolder, program + "-rbac.yaml");
      ASSERT_TRUE(roles) << roles.error().message;
      std::vector<apiserver::PolicyRule> rules;
      for (const auto& role : *roles)
        std::ranges::move(apiserver::rulesOf(role), std::back_inserter(rules));
      std::vector<std::string> excused;
      for (const auto& excuse : kExemptions)
        if (excuse.program == program) excused.push_back(excuse.verb);
      EXPECT_EQ(joined(roleUses()["koord-" + program].unused(rules)), joined(excused))
          << "verbs that koord-" << program << " does not need, and those of the list";
    }
  }
};
const auto* const kNoUnusedPermission = testing::AddGlobalTestEnvironment(new NoUnusedPermission);

}  // namespace
}  // namespace koord::scenario
