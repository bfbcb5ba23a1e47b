// CpuSet::parse on any text: no crash, and what it accepts prints to text that means the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/cpuset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cpus =
      koord::CpuSet::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!cpus) return 0;
  const auto again = koord::CpuSet::parse(cpus->toString());
  if (!again || *again != *cpus) std::abort();
  if (cpus->toVector().size() != static_cast<std::size_t>(cpus->size())) std::abort();
  return 0;
}
