#pragma once

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "cel/value.h"

namespace koord::apiserver {

// Lists of x-kubernetes-list-type set or map: elements are the same if they are equal, or if they
// have the same keys.
class SchemaListKind final : public cel::ListKind {
 public:
  // No keys: a set.
  explicit SchemaListKind(std::vector<std::string> keys) : keys_(std::move(keys)) {}
  std::string keyOf(const cel::Value& element) const override;
  bool isSet() const override { return keys_.empty(); }

 private:
  std::vector<std::string> keys_;
};

}  // namespace koord::apiserver
