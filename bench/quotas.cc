#include "quotas.h"

#include <fmt/format.h>

#include "api/elasticquota.h"
#include "model/well_known.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::bench {

using namespace scheduler;  // NOLINT: a program of its own
using scheduler::testing::aPod;
using scheduler::testing::PodBuilder;
using scheduler::testing::quantity;

namespace {

// Quotas per level; each has its parent among those of the level above, in turn.
struct Level {
  const char* prefix;
  int count;
};
constexpr Level kLevels[] = {{"a", 10}, {"b", 40}, {"c", 150}, {"d", 800}};

void addQuota(Scheduler& scheduler, const std::string& name, const std::string& parent,
              const char* cpu, const char* memory) {
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->metadata.name = name;
  quota->metadata.namespace_ = "teams";
  quota->metadata.labels[std::string(model::kLabelQuotaParent)] = parent;
  quota->spec.max["cpu"] = quantity(cpu);
  quota->spec.max["memory"] = quantity(memory);
  quota->spec.min["cpu"] = quantity("1");
  scheduler.stores().of<api::ElasticQuota>().set(std::move(quota));
}

}  // namespace

SchedulerConfiguration withQuotas() {
  return *parseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: ElasticQuota}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: ElasticQuota}, {name: DefaultPreemption}]}
)");
}

void addQuotaTree(Scheduler& scheduler) {
  const Level* above = nullptr;
  for (const Level& level : kLevels) {
    for (int n = 0; n < level.count; ++n)
      addQuota(scheduler, fmt::format("{}{}", level.prefix, n),
               above ? fmt::format("{}{}", above->prefix, n % above->count) : "", "100000",
               "1000Ti");
    above = &level;
  }
}

PodBuilder podOfSomeQuota(int n) {
  return aPod(fmt::format("pod-{}", n))
      .request("cpu", "100m")
      .request("memory", "500Mi")
      .label(std::string(model::kLabelQuotaName), fmt::format("d{}", n % 800));
}

void addOneQuota(Scheduler& scheduler) {
  addQuota(scheduler, "full", "", "144000", "1000Ti");  // what the victims ask for
}

PodBuilder lowPodOfQuota(int n) {
  return aPod(fmt::format("pod-{}", n))
      .request("cpu", "7200m")
      .request("memory", "500Mi")
      .label(std::string(model::kLabelQuotaName), "full");
}

PodBuilder highPodOfQuota(int n) {
  return aPod(fmt::format("pod-{}", n))
      .request("cpu", "21600m")
      .request("memory", "500Mi")
      .priority(10)
      .label(std::string(model::kLabelQuotaName), "full");
}

namespace {

struct Tree {
  quota::QuotaTree quotas{"root", {}};
  quota::Columns fresh;
  void add(const std::string& name, const std::string& parent, std::int64_t max) {
    quota::Spec spec;
    spec.parent = parent;
    spec.max = spec.weight = {{0, max}, {1, max}};
    spec.min = {{0, max / 100}, {1, max / 100}};
    quotas.set(name, spec, fresh);
  }
  // `count` at the bottom, four levels; all of them ask for more than there is.
  explicit Tree(int count) {
    for (int n = 0; n < 10; ++n) add(fmt::format("a{}", n), "", 1'000'000);
    for (int n = 0; n < count / 20; ++n)
      add(fmt::format("b{}", n), fmt::format("a{}", n % 10), 100'000);
    for (int n = 0; n < count / 5; ++n)
      add(fmt::format("c{}", n), fmt::format("b{}", n % (count / 20)), 10'000 + n);
    for (int n = 0; n < count; ++n) {
      const std::string name = fmt::format("d{}", n);
      add(name, fmt::format("c{}", n % (count / 5)), 5000 + n);
      for (quota::Column column : {0u, 1u})
        quotas.addSelf(quotas.find(name), column, {.request = 4000 + n % 1000});
    }
    quotas.setTotal(0, 600'000);
    quotas.setTotal(1, 600'000);
  }
};

// Microseconds of the slowest and the usual change, each with all runtimes that depend on it.
Numbers refreshes(int quotas, const std::function<void(Tree&, int)>& change) {
  Tree tree(quotas);
  tree.quotas.refreshAll();
  std::vector<double> took;
  for (int n = 0; n < 200; ++n) {
    const Stopwatch one;
    change(tree, n);
    tree.quotas.refreshAll();
    took.push_back(1e6 * one.seconds());
  }
  return {{"p50_us", percentile(took, 0.5)}, {"max_us", percentile(took, 1)}};
}

}  // namespace

void addQuotaTreeBenchmarks(std::vector<Benchmark>& all) {
  for (const int quotas : {1000, 10'000}) {
    const Numbers params{{"quotas", quotas}};
    all.push_back(
        {fmt::format("QuotaTree/Capacity/{}Quotas", quotas), params, [quotas](const Numbers&) {
           return refreshes(quotas, [](Tree& tree, int n) {
             tree.quotas.setTotal(0, 600'000 + 1000 * (n % 7 + 1));
           });
         }});
    all.push_back({fmt::format("QuotaTree/Max/{}Quotas", quotas), params, [quotas](const Numbers&) {
                     return refreshes(quotas, [](Tree& tree, int n) {
                       tree.add(fmt::format("c{}", n % 100), fmt::format("b{}", n % 50),
                                20'000 + n);
                     });
                   }});
    all.push_back({fmt::format("QuotaTree/Pod/{}Quotas", quotas), params, [quotas](const Numbers&) {
                     return refreshes(quotas, [](Tree& tree, int n) {
                       tree.quotas.addSelf(tree.quotas.find(fmt::format("d{}", n)), 0,
                                           {.request = 10});
                     });
                   }});
    all.push_back(
        {fmt::format("QuotaTree/Start/{}Quotas", quotas), params, [quotas](const Numbers&) {
           const Stopwatch start;
           Tree tree(quotas);
           tree.quotas.refreshAll();
           return Numbers{{"seconds", start.seconds()}};
         }});
  }
}

}  // namespace koord::bench
