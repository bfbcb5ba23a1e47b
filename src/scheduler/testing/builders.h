#pragma once

// Builders of API objects for tests: one expression per object.
//
//   aPod("p").request("cpu", "1").toleration("a").build()

#include <memory>
#include <string>

#include "api/core.h"

namespace koord::scheduler::testing {

Quantity quantity(std::string_view text);

class PodBuilder {
 public:
  explicit PodBuilder(std::string name, std::string namespace_ = "default");
  PodBuilder& request(const std::string& resource, std::string_view amount);
  PodBuilder& container(std::string image = "");
  PodBuilder& image(std::string image);
  PodBuilder& hostPort(std::int32_t port, std::string protocol = "", std::string ip = "");
  PodBuilder& toleration(std::string key, std::string op = "Exists", std::string value = "",
                         std::string effect = "");
  PodBuilder& label(const std::string& key, std::string value);
  PodBuilder& nodeSelector(const std::string& key, std::string value);
  // One required term per call.
  PodBuilder& requireNode(api::NodeSelectorTerm term);
  PodBuilder& preferNode(std::int32_t weight, std::string key, std::string value);
  // Pod (anti-)affinity to pods with this label, of one topology key; weight 0 = required.
  PodBuilder& near(std::string topologyKey, const std::string& label, std::string value,
                   int weight = 0);
  PodBuilder& apart(std::string topologyKey, const std::string& label, std::string value,
                    int weight = 0);
  PodBuilder& near(api::PodAffinityTerm term, int weight = 0);
  PodBuilder& apart(api::PodAffinityTerm term, int weight = 0);
  static api::PodAffinityTerm podTerm(std::string topologyKey, const std::string& label,
                                      std::string value);
  // A hard spread constraint over pods with this label; change it through object() for more.
  PodBuilder& spread(std::int32_t maxSkew, std::string topologyKey, const std::string& label,
                     std::string value, std::string action = "DoNotSchedule");
  PodBuilder& claim(std::string name);
  PodBuilder& nodeName(std::string node);
  PodBuilder& nominated(std::string node);
  PodBuilder& priority(std::int32_t priority);
  PodBuilder& scheduler(std::string name);
  PodBuilder& gate(std::string name);
  PodBuilder& version(std::string resourceVersion);
  api::Pod& object() { return pod_; }
  std::shared_ptr<const api::Pod> build() const;

 private:
  api::Affinity& affinity();
  api::NodeAffinity& nodeAffinity();
  static void addTerm(std::optional<api::PodAffinity>& part, api::PodAffinityTerm term, int weight);
  api::Pod pod_;
};

class NodeBuilder {
 public:
  // 4 cpu, 8 GiB, 110 pods.
  explicit NodeBuilder(std::string name);
  NodeBuilder& allocatable(const std::string& resource, std::string_view amount);
  NodeBuilder& label(const std::string& key, std::string value);
  NodeBuilder& taint(std::string key, std::string value = "", std::string effect = "NoSchedule");
  NodeBuilder& unschedulable(bool value = true);
  NodeBuilder& image(std::string name, std::int64_t bytes);
  api::Node& object() { return node_; }
  std::shared_ptr<const api::Node> build() const;

 private:
  api::Node node_;
};

PodBuilder aPod(std::string name, std::string namespace_ = "default");
NodeBuilder aNode(std::string name);

}  // namespace koord::scheduler::testing
