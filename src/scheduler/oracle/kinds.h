#pragma once

// The kinds of objects that a simulation creates and changes in the scheduler's stores: all that
// plugins read, apart from pods and nodes.

#include <functional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler::oracle {

struct StoredKind {
  api::ResourceType type;
  // The stored object; null if there is none.
  std::function<json::value(Stores&, const api::ObjectKey&)> get;
  std::function<bool(Stores&, const api::ObjectKey&)> contains;
  // Stores the object, or replaces it. The error names the field.
  std::function<Result<>(Stores&, const json::value&)> set;
  // Copies all objects.
  std::function<void(Stores& from, Stores& to)> copy;
};

// nullptr for a kind that no plugin reads.
const StoredKind* storedKind(std::string_view group, std::string_view kind);
const StoredKind* storedResource(std::string_view group, std::string_view plural);
// Copies all objects of all kinds.
void copyStores(Stores& from, Stores& to);

}  // namespace koord::scheduler::oracle
