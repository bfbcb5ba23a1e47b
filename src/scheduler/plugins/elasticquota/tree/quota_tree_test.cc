#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "base/random.h"
#include "scheduler/plugins/elasticquota/tree/reference_tree.h"

namespace koord::scheduler::quota {
namespace {

constexpr ResourceKey kCpu = 0;

struct Tree : QuotaTree {
  explicit Tree(Settings settings = {}) : QuotaTree("root", settings) {}
  QuotaId put(std::string_view name, std::string parent, std::int64_t max, std::int64_t min,
              bool lends = true) {
    Spec spec;
    spec.parent = std::move(parent);
    spec.lends = lends;
    spec.max = spec.weight = {{kCpu, max}};
    spec.min = {{kCpu, min}};
    Columns fresh;
    return set(name, spec, fresh);
  }
  void ask(std::string_view name, std::int64_t request) {
    addSelf(find(name), *columnOf(kCpu), {.request = request});
  }
  void use(std::string_view name, std::int64_t used) {
    addSelf(find(name), *columnOf(kCpu), {.used = used});
  }
  const Cell& of(std::string_view name) { return cell(find(name), *columnOf(kCpu)); }
  std::int64_t runtime(std::string_view name) {
    refresh(find(name));
    return of(name).runtime;
  }
};

TEST(QuotaTree, limits_requests_to_max_on_their_way_up) {
  Tree tree;
  tree.put("p", "", 300, 0);
  tree.put("c", "p", 500, 0);
  tree.setTotal(kCpu, 350);
  tree.ask("c", 400);
  EXPECT_EQ(tree.of("p").childRequest, 400);
  EXPECT_EQ(tree.runtime("c"), 300);
  EXPECT_EQ(tree.of("p").runtime, 300);
  EXPECT_EQ(tree.cell(QuotaTree::kRoot, 0).request, 300);
}

void onSmallStack(void* (*work)(void*), void* argument) {
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, 256 << 10), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &small, work, argument), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&small);
}

TEST(QuotaTree, a_chain_of_thousands_of_quotas_needs_no_deep_stack) {
  std::string difference = "not looked at";
  onSmallStack(
      [](void* out) -> void* {
        constexpr int kChain = 2000;
        const auto name = [](int n) { return n == 0 ? std::string() : fmt::format("q{}", n); };
        Tree tree;
        tree.setTotal(kCpu, 1000);
        for (int n = 1; n <= kChain; ++n) tree.put(name(n), name(n - 1), 500, 10);
        tree.ask(name(kChain), 100);
        tree.put(name(1), "", 400, 10);
        tree.erase(tree.find(name(2)));
        tree.put(name(2), name(1), 300, 10);
        tree.refreshAll();
        EXPECT_EQ(tree.of(name(kChain)).runtime, 100);
        tree.rebuild();
        tree.refreshAll();
        *static_cast<std::string*>(out) = tree.verifyQuota(tree.find(name(kChain / 2)));
        return nullptr;
      },
      &difference);
  EXPECT_EQ(difference, "");
}

TEST(QuotaTree, quotas_that_do_not_lend_ask_for_their_min) {
  Tree tree;
  tree.setTotal(kCpu, 350);
  tree.put("p", "", 300, 60, false);
  tree.put("c1", "p", 300, 20, false);
  tree.put("c2", "p", 300, 20, false);
  const auto runtimes = [&] {
    return std::vector{tree.runtime("p"), tree.runtime("c1"), tree.runtime("c2")};
  };
  EXPECT_EQ(runtimes(), (std::vector<std::int64_t>{60, 20, 20}));
  tree.ask("c1", 40);
  EXPECT_EQ(runtimes(), (std::vector<std::int64_t>{60, 40, 20}));
  tree.ask("c1", 20);
  EXPECT_EQ(runtimes(), (std::vector<std::int64_t>{80, 60, 20}));
}

TEST(QuotaTree, scales_mins_when_there_is_less_and_back_when_there_is_more) {
  Tree tree;
  tree.put("p", "", 1'000'000, 300'000);
  for (const char* name : {"a", "b", "c"}) {
    tree.put(name, "p", 1'000'000, 100'000);
    tree.ask(name, 200'000);
  }
  tree.setTotal(kCpu, 200'000);
  // All at once: 66666 each, and the two units that remain go by name.
  EXPECT_EQ(tree.runtime("c"), 66'666);
  EXPECT_EQ(tree.runtime("a"), 66'667);
  EXPECT_EQ(tree.runtime("b"), 66'667);
  tree.setTotal(kCpu, 600'000);
  EXPECT_EQ(tree.runtime("a"), 200'000);
  EXPECT_EQ(tree.of("a").scaledMin, 100'000);
}

TEST(QuotaTree, without_scaling_more_is_promised_than_there_is) {
  Tree tree({.scaleMin = false});
  tree.put("p", "", 1000, 300);
  for (const char* name : {"a", "b", "c"}) {
    tree.put(name, "p", 1000, 100);
    tree.ask(name, 200);
  }
  tree.setTotal(kCpu, 200);
  EXPECT_EQ(tree.runtime("p"), 300);
  EXPECT_EQ(tree.runtime("a"), 100);
}

TEST(QuotaTree, guarantees_hold_what_was_given) {
  Tree tree({.guarantee = true});
  tree.put("q1", "", 100, 20);
  tree.put("q2", "q1", 100, 10);
  tree.put("q3", "q1", 100, 5);
  tree.use("q2", 5);
  EXPECT_EQ(tree.of("q2").guaranteed, 10);
  EXPECT_EQ(tree.of("q1").allocated, 15);
  EXPECT_EQ(tree.of("q1").guaranteed, 20);
  tree.use("q2", 10);
  EXPECT_EQ(tree.of("q2").guaranteed, 15);
  EXPECT_EQ(tree.of("q1").guaranteed, 20);
  tree.use("q2", 10);
  EXPECT_EQ(tree.of("q1").allocated, 30);
  EXPECT_EQ(tree.of("q1").guaranteed, 30);
}

TEST(QuotaTree, quotas_apart_use_up_the_total_and_share_in_nothing) {
  Tree tree;
  Spec spec;
  spec.apart = true;
  spec.max = spec.weight = {{kCpu, 1'000'000}};
  Columns fresh;
  tree.set("default", spec, fresh);
  tree.put("q", "", 100, 0);
  tree.setTotal(kCpu, 100);
  tree.ask("q", 100);
  tree.ask("default", 500);
  EXPECT_EQ(tree.runtime("q"), 100) << "what waits in the default quota takes nothing away";
  tree.use("default", 30);
  EXPECT_EQ(tree.runtime("q"), 70);
  EXPECT_EQ(tree.of("default").limit, 1'000'000);
  tree.use("default", 10);
  tree.refresh(tree.find("default"));
  EXPECT_EQ(tree.of("default").limit, 1'000'000);
  EXPECT_EQ(tree.runtime("q"), 60) << "who asked for it first does not matter";
}

TEST(QuotaTree, a_missing_parent_is_replaced_by_the_root_until_it_comes) {
  Tree tree;
  const QuotaId child = tree.put("child", "parent", 50, 0);
  tree.ask("child", 40);
  tree.setTotal(kCpu, 100);
  EXPECT_EQ(tree.parentState(child), QuotaTree::ParentState::ParentMissing);
  EXPECT_EQ(tree.runtime("child"), 40);
  const QuotaId parent = tree.put("parent", "", 30, 0);
  EXPECT_EQ(tree.parentState(child), QuotaTree::ParentState::ParentFound);
  EXPECT_EQ(tree.parent(child), parent);
  EXPECT_EQ(tree.runtime("child"), 30);
  tree.erase(parent);
  EXPECT_EQ(tree.parentState(child), QuotaTree::ParentState::ParentMissing);
  EXPECT_EQ(tree.runtime("child"), 40);
}

TEST(QuotaTree, members_of_a_cycle_hang_below_the_root_whichever_came_first) {
  for (const bool reverse : {false, true}) {
    Tree tree;
    const std::vector<std::pair<const char*, const char*>> all{
        {"a", "b"}, {"b", "c"}, {"c", "a"}, {"below", "a"}};
    for (std::size_t n = 0; n < all.size(); ++n) {
      const auto& [name, parent] = all[reverse ? all.size() - 1 - n : n];
      tree.put(name, parent, 10, 0);
    }
    tree.put("self", "self", 10, 0);
    for (const char* name : {"a", "b", "c", "self"}) {
      EXPECT_EQ(tree.parentState(tree.find(name)), QuotaTree::ParentState::Cycle) << name;
      EXPECT_EQ(tree.parent(tree.find(name)), QuotaTree::kRoot) << name;
    }
    EXPECT_EQ(tree.parent(tree.find("below")), tree.find("a"));
    tree.put("c", "", 10, 0);
    EXPECT_EQ(tree.parent(tree.find("a")), tree.find("b"));
    EXPECT_EQ(tree.parent(tree.find("b")), tree.find("c"));
    tree.refreshAll();
    EXPECT_EQ(tree.verify(), "");
  }
}

TEST(QuotaTree, any_number_of_resources_limits_those_that_come_after_too) {
  Tree tree;
  Spec greedy;
  for (ResourceKey resource = 1; resource <= 1000; ++resource) greedy.max.emplace_back(resource, 1);
  Columns fresh;
  tree.set("greedy", greedy, fresh);
  constexpr ResourceKey kCard = 5000;
  Spec modest;
  modest.max = modest.weight = {{kCard, 4}};
  tree.set("modest", modest, fresh);
  modest.parent = "modest";
  tree.set("below", modest, fresh);
  tree.setTotal(kCard, 3);
  const auto column = tree.columnOf(kCard);
  ASSERT_TRUE(column);
  tree.addSelf(tree.find("below"), *column, {.request = 5, .used = 2});
  tree.refreshAll();
  EXPECT_EQ(tree.cell(tree.find("below"), *column).limit, 3);
  EXPECT_EQ(clamped(tree.cell(tree.find("modest"), *column).used), 2);
  EXPECT_EQ(clamped(tree.cell(QuotaTree::kRoot, *column).request), 4);
  EXPECT_EQ(tree.cell(tree.find("greedy"), *column).max, 0);
  EXPECT_EQ(tree.verify(), "");
  EXPECT_EQ(tree.verifyQuota(tree.find("modest")), "");
}

TEST(QuotaTree, columns_that_nobody_names_any_more_are_used_again) {
  Tree tree;
  Spec spec;
  for (ResourceKey resource = 1; resource <= 200; ++resource) spec.max.emplace_back(resource, 1);
  Columns fresh;
  const QuotaId greedy = tree.set("greedy", spec, fresh);
  tree.addSelf(greedy, *tree.columnOf(150), {.request = 1});
  EXPECT_TRUE(tree.columns().contains(199));
  tree.erase(greedy);
  EXPECT_TRUE(tree.columns().empty());
  tree.put("modest", "", 10, 0);
  EXPECT_TRUE(tree.columns().contains(0));
  fresh = {};
  tree.set("again", spec, fresh);
  EXPECT_TRUE(fresh.contains(200));
  EXPECT_FALSE(fresh.contains(201)) << "those that were given back are taken again";
  tree.refreshAll();
  EXPECT_EQ(tree.verify(), "");
}

TEST(QuotaTree, a_change_leaves_alone_what_does_not_depend_on_it) {
  Tree tree;
  tree.setTotal(kCpu, 100'000);
  for (const char* top : {"a", "b"}) {
    tree.put(top, "", 1000, 0);
    tree.put(std::string(top) + "1", top, 1000, 0);
  }
  tree.refreshAll();
  const std::uint64_t before = tree.stamp(tree.find("b1"));
  tree.ask("a1", 10);
  tree.refreshAll();
  EXPECT_EQ(tree.stamp(tree.find("b1")), before);
}

// --- Compared with the plain evaluator, on random histories.

struct History {
  // crowded: other quotas have named so many resources that no common columns are left.
  History(std::uint64_t seed, bool crowded)
      : random(seed), settings{random.chance(0.7), random.chance(0.3)}, tree("root", settings) {
    if (crowded) {
      Spec spec;
      spec.apart = true;
      for (ResourceKey resource = 10; resource < 10 + kCommonColumns; ++resource)
        spec.max.emplace_back(resource, 1);
      Columns fresh;
      tree.set("crowd", spec, fresh);
    }
    reference.scaleMin = settings.scaleMin;
    reference.guarantee = settings.guarantee;
  }

  std::int64_t some(std::uint64_t below) { return static_cast<std::int64_t>(random.below(below)); }
  std::string someName() { return "q" + std::to_string(random.below(9)); }

  void setQuota() {
    const std::string name = random.chance(0.05) ? "apart" : someName();
    ReferenceQuota& quota = reference.quotas[name];
    const bool known = tree.find(name) != kNoQuota;
    if (!known || random.chance(0.3))
      quota.parent = random.chance(0.3) ? "" : random.chance(0.1) ? "nobody" : someName();
    quota.apart = name == "apart";
    quota.lends = random.chance(0.7);
    quota.max.clear();
    quota.min.clear();
    quota.weight.clear();
    for (int resource = 0; resource < 3; ++resource) {
      if (random.chance(0.2)) continue;
      quota.max[resource] = some(300);
      if (random.chance(0.7)) quota.min[resource] = some(quota.max[resource] + 1);
      quota.weight[resource] = random.chance(0.2) ? 0 : some(50);
    }
    Spec spec;
    spec.parent = quota.parent;
    spec.apart = quota.apart;
    spec.lends = quota.lends;
    const auto list = [](const std::map<int, std::int64_t>& amounts) {
      Amounts result;
      for (const auto& [resource, amount] : amounts)
        result.emplace_back(static_cast<ResourceKey>(resource), amount);
      return result;
    };
    spec.max = list(quota.max);
    spec.min = list(quota.min);
    spec.weight = list(quota.weight);
    Columns fresh;
    tree.set(name, spec, fresh);
    // The caller's part: adds the known amounts of new columns.
    forEachColumn(fresh, [&](Column column) {
      const int resource = static_cast<int>(tree.resource(column));
      for (const auto& [other, sums] : reference.quotas) {
        if (tree.find(other) == kNoQuota) continue;
        tree.addSelf(
            tree.find(other), column,
            {ReferenceTree::of(sums.request, resource), ReferenceTree::of(sums.used, resource),
             ReferenceTree::of(sums.fixedRequest, resource),
             ReferenceTree::of(sums.fixedUsed, resource)});
      }
    });
  }

  void erase() {
    if (reference.quotas.empty()) return;
    auto it = reference.quotas.begin();
    std::advance(it, some(reference.quotas.size()));
    tree.erase(tree.find(it->first));
    reference.quotas.erase(it);
  }

  void pods() {
    if (reference.quotas.empty()) return;
    auto it = reference.quotas.begin();
    std::advance(it, some(reference.quotas.size()));
    const int resource = static_cast<int>(random.below(3));
    ReferenceQuota& quota = it->second;
    const auto move = [&](std::map<int, std::int64_t>& sum) {
      const std::int64_t delta = some(120) - std::min<std::int64_t>(sum[resource], some(120));
      sum[resource] += delta;
      return Sum{delta};
    };
    Change change;
    change.request = move(quota.request);
    if (random.chance(0.5)) change.used = move(quota.used);
    if (random.chance(0.3)) change.fixedRequest = move(quota.fixedRequest);
    if (random.chance(0.3)) change.fixedUsed = move(quota.fixedUsed);
    if (const auto column = tree.columnOf(static_cast<ResourceKey>(resource)))
      tree.addSelf(tree.find(it->first), *column, change);
  }

  void total() {
    const int resource = static_cast<int>(random.below(3));
    if (random.chance(0.1)) {
      reference.total.erase(resource);
      tree.setTotal(static_cast<ResourceKey>(resource), std::nullopt);
    } else {
      reference.total[resource] = some(900);
      tree.setTotal(static_cast<ResourceKey>(resource), reference.total[resource]);
    }
  }

  // Describes the difference.
  std::string compare() {
    for (const ResourceKey resource : {0u, 1u, 2u}) {
      const auto column = tree.columnOf(resource);
      if (!column) continue;
      for (const auto& [name, right] : reference.evaluate(static_cast<int>(resource))) {
        const Cell& cell = tree.cell(tree.find(name), *column);
        const ReferenceTree::Values ours{clamped(cell.childRequest),
                                         clamped(cell.request),
                                         clamped(cell.used),
                                         clamped(cell.fixedRequest),
                                         clamped(cell.fixedUsed),
                                         clamped(cell.allocated),
                                         clamped(cell.guaranteed),
                                         cell.scaledMin,
                                         cell.runtime,
                                         cell.limit};
        if (ours == right) continue;
        const auto text = [](const ReferenceTree::Values& v) {
          return fmt::format(
              "child {} request {} used {} fixed {}/{} allocated {} guaranteed {} min "
              "{} runtime {} limit {}",
              v.childRequest, v.request, v.used, v.fixedRequest, v.fixedUsed, v.allocated,
              v.guaranteed, v.scaledMin, v.runtime, v.limit);
        };
        return fmt::format("{} resource {}: ours {}; right {}", name, resource, text(ours),
                           text(right));
      }
    }
    return "";
  }

  void step() {
    const std::uint64_t what = random.below(20);
    if (what < 5) {
      setQuota();
    } else if (what < 6) {
      erase();
    } else if (what < 17) {
      pods();
    } else if (what < 19) {
      total();
    } else if (!reference.quotas.empty()) {
      tree.refresh(tree.find(reference.quotas.begin()->first));
    }
  }

  Random random;
  QuotaTree::Settings settings;
  QuotaTree tree;
  ReferenceTree reference;
};

void runHistories(bool crowded) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    History history(seed, crowded);
    for (int step = 0; step < 150; ++step) {
      history.step();
      if (step % 5 != 0) continue;
      history.tree.refreshAll();
      ASSERT_EQ(history.compare(), "") << "seed " << seed << " step " << step;
    }
    history.tree.refreshAll();
    ASSERT_EQ(history.tree.verify(), "") << "seed " << seed;
    history.tree.forEach(
        [&](QuotaId quota) { EXPECT_EQ(history.tree.verifyQuota(quota), "") << "seed " << seed; });
  }
}

TEST(QuotaTree, agrees_with_the_plain_rules_through_random_histories) {
  runHistories(false);
}

TEST(QuotaTree, agrees_with_the_plain_rules_in_further_columns) {
  runHistories(true);
}

}  // namespace
}  // namespace koord::scheduler::quota
