#include "cluster/containerd/shims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/log.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kShimPrefix = "containerd-shim";  // -runc-v2, and of other runtimes
constexpr Duration kShimPoll = 20ms;

// A command line from /proc: words that end with a zero byte.
std::vector<std::string_view> wordsOf(std::string_view cmdline) {
  std::vector<std::string_view> words;
  while (!cmdline.empty()) {
    const auto end = cmdline.find('\0');
    words.push_back(cmdline.substr(0, end));
    cmdline.remove_prefix(end == std::string_view::npos ? cmdline.size() : end + 1);
  }
  return words;
}

bool isShimOf(std::string_view cmdline, const std::string& socket) {
  const auto words = wordsOf(cmdline);
  if (words.empty()) return false;
  const auto name = words[0].substr(words[0].rfind('/') + 1);
  if (!name.starts_with(kShimPrefix)) return false;
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    if (words[i] == "-address" && words[i + 1] == socket) return true;
  return false;
}

}  // namespace

std::vector<pid_t> shimsOf(const std::string& socket) {
  std::vector<pid_t> shims;
  std::error_code ignored;  // a process that ends meanwhile
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    if (const auto cmdline = readFile(entry.path() / "cmdline");
        cmdline && isShimOf(*cmdline, socket))
      shims.push_back(pid);
  }
  return shims;
}

Task<void> awaitShims(Executor& executor, std::string socket, Duration grace) {
  const SteadyTime deadline = executor.steadyNow() + grace;
  bool killed = false;
  for (auto shims = shimsOf(socket); !shims.empty(); shims = shimsOf(socket)) {
    const auto now = executor.steadyNow();
    if (!killed && now >= deadline) {
      log::warn("killing containerd's shims {}, which did not exit", fmt::join(shims, ", "));
      for (const pid_t shim : shims) ::kill(shim, SIGKILL);
      killed = true;
    }
    if (now >= deadline + grace) co_return;  // uninterruptible: only the kernel can end it
    auto pause = sleepFor(executor, kShimPoll);
    co_await pause;
  }
}

}  // namespace koord::cluster
