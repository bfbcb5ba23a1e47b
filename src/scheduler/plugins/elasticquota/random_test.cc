// Random changes of quotas, pods and nodes, with mistakes of every kind in between: the stored sums
// equal recomputed sums, no quota uses more than its rules allow, and no pod is forgotten.

#include <fmt/format.h>

#include "scheduler/plugins/elasticquota/quota_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aQuota;
using testing::PodBuilder;
using testing::QuotaBuilder;
using testing::QuotaFixture;
using namespace std::chrono_literals;

struct Chaos {
  QuotaFixture f;
  Random random;
  int created = 0;

  explicit Chaos(std::uint64_t seed)
      : f(seed % 3 == 0 ? "{enableCheckParentQuota: true}" : "{}",
          seed % 4 == 0   ? std::set<std::string, std::less<>>{"ElasticQuotaGuaranteeUsage"}
          : seed % 4 == 1 ? std::set<std::string, std::less<>>{"MultiQuotaTree"}
                          : std::set<std::string, std::less<>>{}),
        random(seed) {
    for (int n = 0; n < 3; ++n) f.node(aNode(fmt::format("n{}", n)));
    f.run(10ms);
  }
  std::string quotaName() { return fmt::format("q{}", random.below(6)); }
  std::string amount(int most) { return std::to_string(random.below(most)); }
  std::string garbage() {
    static const char* kTexts[] = {"",     "{",       "[]",           "{\"cpu\":{}}",        "null",
                                   "\xff", "[1,2,3]", "{\"cpu\":-1}", "{\"cpu\":\"1e1000\"}"};
    return kTexts[random.below(std::size(kTexts))];
  }

  void setQuota() {
    QuotaBuilder quota = aQuota(quotaName(), random.chance(0.1) ? "elsewhere" : "teams");
    if (random.chance(0.8)) quota.max("cpu", amount(14));
    if (random.chance(0.3)) quota.max("memory", "8Gi");
    if (random.chance(0.2)) quota.max(fmt::format("example.com/r{}", random.below(90)), "1");
    if (random.chance(0.5)) quota.min("cpu", amount(6));
    if (random.chance(0.05)) quota.min("cpu", "-3");
    if (random.chance(0.5)) quota.below(random.chance(0.1) ? "nobody" : quotaName());
    if (random.chance(0.2)) quota.label(model::kLabelQuotaLends, "false");
    if (random.chance(0.2)) quota.annotate(model::kAnnotationSharedWeight, garbage());
    if (random.chance(0.2)) quota.annotate(model::kAnnotationQuotaNamespaces, garbage());
    if (random.chance(0.2)) quota.annotate(model::kAnnotationQuotaNamespaces, R"(["team"])");
    if (random.chance(0.1)) quota.label(model::kLabelQuotaTree, "t");
    if (random.chance(0.1)) {
      quota.label(model::kLabelQuotaIsRoot, "true");
      quota.annotate(model::kAnnotationQuotaTotal,
                     random.chance(0.5) ? garbage() : R"({"cpu":"3"})");
    }
    f.set(quota);
  }
  void pod() {
    PodBuilder pod(fmt::format("p{}", created++), random.chance(0.3) ? "team" : "default");
    pod.request("cpu", fmt::format("{}m", 500 * (1 + random.below(6))));
    pod.priority(static_cast<int>(random.below(3)));
    if (random.chance(0.7)) pod.label(std::string(model::kLabelQuotaName), quotaName());
    if (random.chance(0.2)) pod.label(std::string(model::kLabelPreemptible), "false");
    if (random.chance(0.1)) pod.scheduler("another");
    f.create(pod);
  }
  void relabel() {
    if (f.pods.empty()) return;
    auto it = f.pods.begin();
    std::advance(it, static_cast<long>(random.below(f.pods.size())));
    auto after = std::make_shared<api::Pod>(*it->second);
    after->metadata.labels[std::string(model::kLabelQuotaName)] = quotaName();
    after->metadata.resourceVersion += "r";
    f.replace(after);
  }
  void step() {
    switch (random.below(10)) {
      case 0:
      case 1:
        return setQuota();
      case 2:
        if (!f.quotas.empty()) {
          auto it = f.quotas.begin();
          std::advance(it, static_cast<long>(random.below(f.quotas.size())));
          f.drop(it->first);
        }
        return;
      case 3:
        return relabel();
      case 4: {
        if (f.pods.empty()) return;
        auto it = f.pods.begin();
        std::advance(it, static_cast<long>(random.below(f.pods.size())));
        return f.remove(it->first);
      }
      case 5:
        return f.node(aNode(fmt::format("n{}", random.below(3)))
                          .allocatable("cpu", std::to_string(2 + random.below(6))));
      default:
        return pod();
    }
  }
  // A pod that its quota and a node could take does not stay waiting.
  void expectNobodyForgotten() {
    f.run(30s);
    for (const auto& [uid, pod] : f.scheduler->pendingPods()) {
      if (f.scheduler->cluster().findPod(uid)) continue;
      const auto facts = f.plugin().factsOf(*pod);
      if (facts.is_null() || !at(facts, "admitted")->get_bool()) continue;
      bool fits = false;
      const Cluster& cluster = f.scheduler->cluster();
      cluster.live().forEach([&](NodeId node) {
        fits |= cluster.allocatable(kCpu)[node] - cluster.requested(kCpu)[node] >=
                pod->request.amount(kCpu);
      });
      EXPECT_FALSE(fits) << pod->key() << " waits, and its quota has room; it is "
                         << nameOf(f.scheduler->queue().placeOf(uid)) << " and was told "
                         << f.lastCondition(pod->pod->metadata.name);
    }
  }
};

TEST(ElasticQuotaRandom, sums_hold_through_everything_that_happens) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Chaos chaos(seed);
    for (int step = 0; step < 60; ++step) {
      chaos.step();
      if (step % 3 == 0) chaos.f.run(std::chrono::milliseconds(chaos.random.below(2000)));
      if (step % 10 == 0) chaos.f.expectSound();
    }
    chaos.expectNobodyForgotten();
    chaos.f.expectSound();
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace koord::scheduler
