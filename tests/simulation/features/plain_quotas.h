#pragma once

// PlainQuotas: what quotas are entitled to and use, from API objects alone, for plain evaluation.
// The arithmetic is that of the reference tree (plugins/elasticquota/tree/reference_tree.h).

#include <map>
#include <string>

#include "api/elasticquota.h"
#include "scheduler/plugins/elasticquota/tree/reference_tree.h"
#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

class PlainQuotas {
 public:
  using Model = scheduler::testing::Model;
  using Object = std::shared_ptr<const api::ElasticQuota>;
  static constexpr const char* kResources[] = {"cpu", "memory"};

  explicit PlainQuotas(std::map<std::string, Object> objects);  // by name

  // Adds to the total. Call it for all nodes before any pod is added.
  void addNode(const api::Node& node);
  // How a pod's amounts count, without the covered part: as request, as use, or both.
  struct Counts {
    bool asks = false, runs = false;
  };
  void addPod(const api::Pod& pod, const api::ResourceList& covered, Counts counts);

  std::string quotaOf(const api::Pod& pod) const;
  bool isFixed(const api::Pod& pod) const;
  // How much the pods of a quota may use together; nullopt: no limit.
  std::optional<std::int64_t> limitOf(const std::string& quota, const std::string& resource);
  std::int64_t runtimeOf(const std::string& quota, const std::string& resource);
  std::int64_t usedOf(const std::string& quota, const std::string& resource);
  // "" if its quota admits the pod on this node. `runs` is what plain evaluation lets run; `hidden`
  // counts the same and is not part of it.
  std::string admit(const Model& now, const api::Pod& pod, const api::Node& node);
  const std::map<std::string, Object>& objects() const { return objects_; }

  // Pods that are charged and that plain evaluation does not know.
  std::vector<std::shared_ptr<const api::Pod>> hidden;

 private:
  struct Amounts {
    std::int64_t used = 0, fixedUsed = 0;
  };
  using Reference = scheduler::quota::ReferenceTree;
  const Reference::Values& values(const std::string& quota, int resource);

  std::map<std::string, Object> objects_;
  Reference tree_;
  std::map<int, std::map<std::string, Reference::Values>> evaluated_;  // by resource
};

}  // namespace koord::simulation
