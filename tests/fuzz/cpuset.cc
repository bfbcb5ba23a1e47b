// What is accepted prints to text that means the same.

#include "base/cpuset.h"

#include "fuzz.h"

namespace koord::fuzz {

void cpuset(std::string_view input) {
  const auto cpus = CpuSet::parse(input);
  if (!cpus) return;
  const auto again = CpuSet::parse(cpus->toString());
  check(again && *again == *cpus, "the text of a set reads as the set");
  check(cpus->toVector().size() == static_cast<std::size_t>(cpus->size()), "size is a count");
}

}  // namespace koord::fuzz
