// Runs every input of the corpora once, with little memory and time: koord_fuzz CORPUS-FOLDER

#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers reserve terabytes of addresses, so that they have to count pages themselves.
constexpr const char* kOptions = "hard_rss_limit_mb=4096";
extern "C" const char* __asan_default_options() {
  return kOptions;
}
extern "C" const char* __tsan_default_options() {
  return kOptions;
}
#endif

namespace {

void limitResources() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The program itself and its allocator's reserve come on top of what an input may need.
  constexpr rlim_t kBytes = (koord::fuzz::kMaxMegabytes + rlim_t{512}) << 20;
  const rlimit memory{kBytes, kBytes};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  // Seconds of all inputs together; an input that takes hours is a fault, too.
  const rlimit time{600, 600};
  ::setrlimit(RLIMIT_CPU, &time);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
    return 2;
  }
  limitResources();
  int failures = 0, all = 0;
  for (const auto& target : koord::fuzz::targets()) {
    const auto folder = std::filesystem::path(argv[1]) / target.name;
    int inputs = 0;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      std::fprintf(stderr, "\r\033[K%s",
                   entry.path().c_str());  // stays on the screen after a crash
      target.run(std::move(text).str());
      ++inputs;
    }
    all += inputs;
    if (inputs > 0) continue;
    std::fprintf(stderr, "%s: no inputs\n", folder.c_str());
    ++failures;
  }
  std::fprintf(stderr, "\r\033[K%d inputs, nothing broken\n", all);
  return failures > 0 ? 1 : 0;
}
