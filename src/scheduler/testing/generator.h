#pragma once

// Generator: random nodes and pods that use most fields that the default plugins read. Pods come
// from a few shapes, so that classes of equal pods recur.

#include <string>

#include "base/random.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  NodeBuilder node(int n) {
    NodeBuilder node = aNode("n" + std::to_string(n));
    node.allocatable("cpu", pick({"1", "2", "4", "8"}))
        .allocatable("memory", pick({"2Gi", "4Gi", "8Gi"}));
    node.allocatable("pods", pick({"2", "5", "110"}));
    if (random_.chance(0.5)) node.allocatable("kubernetes.io/batch-cpu", pick({"1000", "3000"}));
    if (random_.chance(0.9)) node.label("kubernetes.io/hostname", "n" + std::to_string(n));
    if (random_.chance(0.7)) node.label("zone", pick({"a", "b", "c"}));
    if (random_.chance(0.5)) node.label("disk", pick({"ssd", "hdd"}));
    if (random_.chance(0.3)) node.label("rank", pick({"1", "5", "9"}));
    if (random_.chance(0.2))
      node.taint("t", pick({"x", "y"}), pick({"NoSchedule", "PreferNoSchedule"}));
    if (random_.chance(0.1)) node.taint("u", "", "NoExecute");
    if (random_.chance(0.1)) node.unschedulable();
    if (random_.chance(0.3))
      node.image("img:1", static_cast<std::int64_t>(100 + random_.below(900)) << 20);
    return node;
  }

  // One of a few shapes, so that classes recur.
  PodBuilder pod(int n, std::uint64_t shapes) {
    Random shape(1000 + random_.below(shapes));
    const auto one = [&](std::initializer_list<const char*> texts) {
      return std::string(texts.begin()[shape.below(texts.size())]);
    };
    PodBuilder pod = aPod("p" + std::to_string(n), one({"default", "default", "other"}));
    const bool social = shape.chance(0.5);
    if (social || shape.chance(0.5)) pod.label("app", one({"a", "b", "c"}));
    const auto topology = [&] { return one({"zone", "disk", "kubernetes.io/hostname"}); };
    if (social) {
      for (const bool anti : {false, true}) {
        for (int weight : {0, static_cast<int>(1 + shape.below(50))}) {
          if (!shape.chance(weight == 0 ? 0.15 : 0.25)) continue;
          auto term = PodBuilder::podTerm(topology(), "app", one({"a", "b", "c"}));
          if (shape.chance(0.2)) term.namespaces = {"other"};
          if (shape.chance(0.2)) term.namespaceSelector.emplace();
          if (shape.chance(0.1))
            term.namespaceSelector.emplace().matchLabels["team"] = one({"x", "y"});
          anti ? pod.apart(term, weight) : pod.near(term, weight);
        }
      }
      for (const char* action : {"DoNotSchedule", "ScheduleAnyway"}) {
        if (!shape.chance(0.3)) continue;
        pod.spread(static_cast<std::int32_t>(1 + shape.below(3)), topology(), "app",
                   one({"a", "b", "c"}), action);
        auto& constraint = pod.object().spec.topologySpreadConstraints.back();
        if (shape.chance(0.2)) constraint.minDomains = 3;
        if (shape.chance(0.3)) constraint.nodeAffinityPolicy = "Ignore";
        if (shape.chance(0.3)) constraint.nodeTaintsPolicy = "Honor";
        if (shape.chance(0.2)) pod.spread(2, topology(), "app", "a", action);
      }
    }
    if (shape.chance(0.8)) pod.request("cpu", one({"100m", "500m", "1", "3"}));
    if (shape.chance(0.6)) pod.request("memory", one({"256Mi", "1Gi", "3Gi"}));
    if (shape.chance(0.2)) pod.request("kubernetes.io/batch-cpu", one({"500", "2000"}));
    if (shape.chance(0.2)) pod.image("img:1");
    if (shape.chance(0.15)) pod.hostPort(static_cast<std::int32_t>(8000 + shape.below(2)));
    if (shape.chance(0.3)) pod.toleration("t", "Equal", one({"x", "y"}));
    if (shape.chance(0.2)) pod.toleration("", "Exists");
    if (shape.chance(0.2)) pod.nodeSelector("zone", one({"a", "b"}));
    if (shape.chance(0.2)) {
      const std::string op = one({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
      api::NodeSelectorTerm term;
      if (op == "In" || op == "NotIn") {
        term.matchExpressions.push_back({"disk", op, {"ssd"}});
      } else if (op == "Gt" || op == "Lt") {
        term.matchExpressions.push_back({"rank", op, {"4"}});
      } else {
        term.matchExpressions.push_back({"disk", op, {}});
      }
      pod.requireNode(term);
      if (shape.chance(0.5)) pod.requireNode({{{"zone", "In", {"a", "c"}}}, {}});
    }
    if (shape.chance(0.3))
      pod.preferNode(static_cast<int>(1 + shape.below(50)), "zone", one({"a", "b", "c"}));
    if (shape.chance(0.2)) pod.preferNode(20, "disk", "ssd");
    return pod;
  }

  std::string pick(std::initializer_list<const char*> texts) {
    return texts.begin()[random_.below(texts.size())];
  }
  Random& random() { return random_; }

 private:
  Random random_;
};

}  // namespace koord::scheduler::testing
