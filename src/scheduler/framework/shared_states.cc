#include "scheduler/framework/shared_states.h"

namespace koord::scheduler {

SharedStates::AnyState* SharedStates::find(std::type_index type) const {
  const auto found = states_.find(type);
  return found == states_.end() ? nullptr : found->second.get();
}

void SharedStates::add(std::type_index type, std::unique_ptr<AnyState> state) {
  states_.emplace(type, std::move(state));
}

}  // namespace koord::scheduler
