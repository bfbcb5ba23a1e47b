#pragma once

// Results: the allocation of each claim from the chosen devices, as it is stored in its status.

#include "scheduler/plugins/dynamicresources/allocator/search.h"

namespace koord::scheduler::dra {

// One for each claim of the plan. newShareId returns a UID. The error is that of a slice with a
// node selector of several terms.
Result<std::vector<api::AllocationResult>> allocationsOf(
    const Plan& plan, const NodeInventory& node, const Search& search, const std::string& nodeName,
    const std::function<std::string()>& newShareId);

// The sum of the ranks of the chosen alternatives: the first of up to eight counts 8, the second 7,
// and so on. 0 without alternatives.
std::int64_t rankOf(const Plan& plan, const Search& search);
// The same for a claim that is allocated.
std::int64_t rankOf(const api::ResourceClaimSpec& spec, const api::AllocationResult& allocation);

}  // namespace koord::scheduler::dra
