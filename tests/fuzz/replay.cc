// Runs every input of the corpora once, and inputs made from them, with little memory and time:
//
//   koord_fuzz CORPUS-FOLDER [--mutations COUNT] [--seed SEED] [--target NAME]
//
// After a crash the input is in the file koord-fuzz-input.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz.h"
#include "mutator.h"

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

struct Options {
  std::filesystem::path corpora;
  int mutations = 0;  // of each target
  std::uint64_t seed = 1;
  std::string target;  // "": all
};

template <class T>
bool parseNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--")) {
      options.corpora = name;
      continue;
    }
    if (++i == argc) return false;
    if (name == "--mutations") {
      if (!parseNumber(argv[i], options.mutations)) return false;
    } else if (name == "--seed") {
      if (!parseNumber(argv[i], options.seed)) return false;
    } else if (name == "--target") {
      options.target = argv[i];
    } else {
      return false;
    }
  }
  return !options.corpora.empty();
}

// What runs now, for the handler of crashes.
std::string_view runningInput;
char runningName[512];

void keepInput(int signal) {
  const int file = ::open("koord-fuzz-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && ::write(file, runningInput.data(), runningInput.size()) >= 0) ::close(file);
  (void)!::write(STDERR_FILENO, runningName, std::strlen(runningName));
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// The handler has a stack of its own, because an input may use up the other one.
void handleCrashes() {
  static char stack[64 << 10];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_handler = keepInput;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGXCPU})
    ::sigaction(signal, &action, nullptr);
}

void run(const koord::fuzz::Target& target, const std::string& input, const std::string& name) {
  runningInput = input;
  std::snprintf(runningName, sizeof(runningName), "%s\n", name.c_str());
  target.run(input);
}

std::string contentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER [--mutations N] [--seed N] [--target NAME]\n",
                 argv[0]);
    return 2;
  }
  limitResources();
  handleCrashes();
  int failures = 0, all = 0;
  for (const auto& target : koord::fuzz::targets()) {
    if (!options.target.empty() && options.target != target.name) continue;
    const auto folder = options.corpora / target.name;
    std::vector<std::filesystem::path> paths;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
      paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<std::string> inputs;
    for (const auto& path : paths) run(target, inputs.emplace_back(contentOf(path)), path.string());
    all += static_cast<int>(inputs.size());
    if (inputs.empty()) {
      std::fprintf(stderr, "%s: no inputs\n", folder.c_str());
      ++failures;
      continue;
    }
    const koord::fuzz::Mutator mutator(std::move(inputs));
    koord::Random random(options.seed);
    for (int i = 0; i < options.mutations; ++i)
      run(target, mutator.next(random),
          folder.string() + ", mutation " + std::to_string(i) + " of seed " +
              std::to_string(options.seed));
    all += options.mutations;
  }
  std::fprintf(stderr, "%d inputs, nothing broken\n", all);
  return failures > 0 ? 1 : 0;
}
