#pragma once

// NodeShape: what a scheduler knows of a node that others of the same shape would have, too: the
// Node, its Device, NodeResourceTopology, CSINode and ResourceSlices. Without them, no pod that
// requests a GPU or whole CPUs would fit on a node that a simulation adds.

#include <memory>
#include <string>
#include <vector>

#include "scheduler/framework/stores.h"
#include "scheduler/oracle/question.h"
#include "scheduler/oracle/scratch_server.h"

namespace koord::scheduler::oracle {

// The node whose shape new nodes have. Invalid: there is no such node, or it cannot be read; the
// error names the field.
Result<std::shared_ptr<const api::Node>> patternOf(const NewNodes& nodes,
                                                   const Scheduler& scheduler);

class NodeShape {
 public:
  // `node` and its objects in `stores`.
  NodeShape(Stores& stores, const api::Node& node);

  // Creates a node of this shape, schedulable and in good health.
  void create(ScratchServer& server, const std::string& name) const;
  void remove(ScratchServer& server, const std::string& name) const;

 private:
  struct Companion;

  Stores& stores_;
  const api::Node node_;
  std::vector<std::shared_ptr<const Companion>> companions_;
};

}  // namespace koord::scheduler::oracle
