#pragma once

// For tests of the allocator: a compiler for the few expressions that they use, and a node with its
// slices.
//
//   device.driver == "a" && device.attributes["a"].type == "x"
//   device.capacity["a"].memory.compareTo(quantity("2Gi")) >= 0
//   device.attributes["a"].flag
//   device.allowMultipleAllocations == true
//
// Everything else does not compile.

#include "api/codec.h"
#include "scheduler/plugins/dynamicresources/allocator/results.h"

namespace koord::scheduler::dra::testing {

class FakeCompiler final : public SelectorCompiler {
 public:
  Result<std::shared_ptr<const CompiledSelector>> compile(const std::string& expression) override;
  std::size_t compilations = 0;
  mutable std::size_t evaluations = 0;
};

// Devices of one node, and what the claims of pods get of them.
class Bench {
 public:
  explicit Bench(bool partitionable = true) : inventory(usage, partitionable) {
    node->metadata.name = "node-1";
  }

  void slice(std::string_view json) { slice(api::decodeText<api::ResourceSlice>(json).value()); }
  void slice(api::ResourceSlice slice);
  void class_(std::string_view json);
  // The devices of each claim as "request=device,request=device; ", or the reason why there are
  // none.
  std::string allocate(const std::vector<std::string>& claims);
  Result<std::vector<api::AllocationResult>> allocationsFor(std::vector<ClaimPtr> claims);

  FakeCompiler compiler;
  Matchers matchers{compiler};
  Usage usage;
  Inventory inventory;
  Features features;
  MoreTaints taints;
  std::function<bool()> expired;
  std::shared_ptr<api::Node> node = std::make_shared<api::Node>();
  std::map<std::string, ClassPtr> classes;
  std::uint64_t steps = 0;  // of the last search
};

}  // namespace koord::scheduler::dra::testing
