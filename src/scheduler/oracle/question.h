#pragma once

// The question of a simulation: a document
//
//   apiVersion: simulation.koordinator.sh/v1alpha1
//   kind: Simulation
//   spec:
//     objects: [...]        # manifests as kubectl takes them: pods, workloads, PodGroups,
//                           # ElasticQuotas, Reservations, other objects that plugins read,
//                           # nodes, Lists
//     addNodes: [{count: 5, like: node-1}, {count: 1, node: {...}}]
//     drainNodes: [node-2]  # their pods are placed again elsewhere
//     loseNodes: [node-3]   # the same, and the nodes are gone
//     configuration: {...}  # a KubeSchedulerConfiguration instead of the scheduler's
//     fill: {pools: LABEL}  # how many copies of the objects fit (filling.h), by a label of nodes
//     when: {pods: [team-a/p]}  # when these start (starts/starts_question.h)
//     nodesFor: {like: node-1}  # or node: {...}; how many such nodes the objects need, if the
//                           # cluster has no other nodes and no other pods (nodes_needed.h)
//
// Reading it checks the shape only and is cheap; the objects are decoded where the simulation runs
// (expand.h). Errors are Invalid and name the field.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "scheduler/oracle/starts/starts_question.h"

namespace koord::scheduler::oracle {

inline constexpr const char* kSimulationVersion = "simulation.koordinator.sh/v1alpha1";
inline constexpr const char* kSimulationKind = "Simulation";

inline constexpr std::size_t kMaxQuestionBytes = 3 << 20;  // as net::ServerOptions
inline constexpr std::size_t kMaxObjects = 20'000;
inline constexpr std::int64_t kMaxNewNodes = 5'000;
inline constexpr std::size_t kMaxChangedNodes = 1'000;

struct QuestionObject {
  std::string path;   // "spec.objects[3]"
  std::string group;  // "" = core
  std::string kind;
  std::string namespace_;  // as written; "" = none
  json::value document;
};

struct NewNodes {
  std::string path;
  std::int64_t count = 1;
  std::string like;  // the name of a node whose shape they have; "": `node`
  json::value node;  // a Node
};

struct Question {
  std::vector<QuestionObject> objects;
  std::vector<NewNodes> addNodes;
  std::vector<std::string> drainNodes;
  std::vector<std::string> loseNodes;
  json::value configuration;  // null: the scheduler's own
  // At most one of these.
  std::optional<std::string> fill;   // pools: a label of nodes; "" = the usual one
  std::optional<NewNodes> nodesFor;  // its count has no meaning
  std::optional<StartsQuestion> when;
};

// The object's namespace; "default" if it names none.
std::string namespaceOf(const QuestionObject& object);
// The group of an apiVersion; "" = core.
std::string_view groupOf(std::string_view apiVersion);

Result<Question> readQuestion(const json::value& document);
// The document of a question.
json::value simulationOf(json::value spec);

}  // namespace koord::scheduler::oracle
