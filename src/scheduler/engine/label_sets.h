#pragma once

// LabelSets: namespaces and labels of pods, shared by pods with equal ones, so that a selector is
// matched once per distinct set and not once per pod. A set is released with its last pod; its id
// is then reused with another serial.

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/meta.h"

namespace koord::scheduler {

struct LabelSet {
  std::uint32_t id = 0;
  std::uint64_t serial = 0;  // never 0, never the same for two sets
  std::string namespace_;
  api::StringMap labels;
};
using LabelSetPtr = std::shared_ptr<const LabelSet>;

class LabelSets {
 public:
  LabelSets() : table_(std::make_shared<Table>()) {}
  LabelSetPtr intern(const std::string& namespace_, const api::StringMap& labels);
  std::size_t size() const { return table_->byKey.size(); }

 private:
  struct Table {
    std::unordered_map<std::string, std::weak_ptr<const LabelSet>> byKey;
    std::vector<std::uint32_t> freeIds;
    std::uint32_t ids = 0;
    std::uint64_t serial = 0;
  };
  std::shared_ptr<Table> table_;  // sets may outlive this object
};

}  // namespace koord::scheduler
