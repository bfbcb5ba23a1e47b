// libFuzzer's entry. The target comes from the environment variable KOORD_FUZZ_TARGET.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz.h"

namespace {

const koord::fuzz::Target& chosen() {
  static const koord::fuzz::Target& target = []() -> const koord::fuzz::Target& {
    const char* const name = std::getenv("KOORD_FUZZ_TARGET");
    for (const auto& known : koord::fuzz::targets())
      if (name && known.name == name) return known;
    std::fprintf(stderr, "KOORD_FUZZ_TARGET must name one of:\n");
    for (const auto& known : koord::fuzz::targets())
      std::fprintf(stderr, "  %.*s\n", static_cast<int>(known.name.size()), known.name.data());
    std::exit(1);
  }();
  return target;
}

}  // namespace

// The limits come first, so that others can be given on the command line.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using koord::fuzz::kMaxMegabytes;
  static std::string rss = "-rss_limit_mb=" + std::to_string(3 * kMaxMegabytes);
  static std::string once = "-malloc_limit_mb=" + std::to_string(kMaxMegabytes);
  static std::vector<char*> arguments(*argv, *argv + *argc);
  arguments.insert(arguments.begin() + 1, {rss.data(), once.data()});
  *argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
