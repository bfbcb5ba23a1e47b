#include "net/profiling.h"

#include <malloc.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/file.h"
#include "net/cpu_sampler.h"

// jemalloc's function, if the program is linked with it.
extern "C" {
[[gnu::weak]] int mallctl(const char* name, void* old, std::size_t* oldSize, void* value,
                          std::size_t size) noexcept;
[[gnu::weak]] void malloc_stats_print(void (*write)(void* into, const char* part), void* into,
                                      const char* options) noexcept;
}

namespace koord::net {
namespace {

using ResponderPtr = std::shared_ptr<Responder>;

constexpr int kDefaultSeconds = 30;
constexpr int kMaxSeconds = 300;

void sendProfile(Executor& executor, const Target& target, ResponderPtr to) {
  int seconds = kDefaultSeconds;
  if (const auto text = target.param("seconds"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
        seconds > kMaxSeconds)
      return sendText(*to, 400,
                      fmt::format("seconds: must be a number from 1 to {}\n", kMaxSeconds));
  }
  auto sampler = CpuSampler::start();
  if (!sampler) return sendText(*to, 409, sampler.error().message + "\n");
  executor.runAfter(std::chrono::seconds(seconds),
                    [sampler = *std::move(sampler), to = std::move(to)] {
                      to->respond(200,
                                  {{"Content-Type", "application/octet-stream"},
                                   {"Content-Disposition", "attachment; filename=\"profile\""},
                                   {"X-Content-Type-Options", "nosniff"}},
                                  sampler->finish());
                    });
}

std::string glibcText() {
  const auto info = ::mallinfo2();
  std::string text = fmt::format(
      "in use: {} bytes\nfree, cached: {} bytes\nin separate mappings: {} bytes in {} "
      "blocks\nreleasable to the system: {} bytes\n\n",
      info.uordblks, info.fordblks, info.hblkhd, info.hblks, info.keepcost);
  char* details = nullptr;
  std::size_t size = 0;
  std::FILE* const out = ::open_memstream(&details, &size);
  if (out == nullptr) return text;
  ::malloc_info(0, out);
  std::fclose(out);
  text.append(details, size);
  std::free(details);
  return text;
}

std::string jemallocText() {
  std::uint64_t epoch = 1;  // a write updates the statistics that are read
  ::mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
  const auto figure = [](const char* name) {
    std::size_t value = 0, size = sizeof value;
    ::mallctl(name, &value, &size, nullptr, 0);
    return value;
  };
  std::string text =
      fmt::format("in use: {} bytes\nwith fragmentation: {} bytes\nresident: {} bytes\n\n",
                  figure("stats.allocated"), figure("stats.active"), figure("stats.resident"));
  ::malloc_stats_print(
      [](void* into, const char* part) { *static_cast<std::string*>(into) += part; }, &text, "");
  return text;
}

std::string heapText() {
  return ::mallctl ? jemallocText() : glibcText();
}

}  // namespace

void addProfiling(Router& router, Executor& executor) {
  router.add("GET", "/debug/pprof/profile",
             [&executor](const RoutedRequest& request, const ResponderPtr& to) {
               sendProfile(executor, request.target, to);
             });
  router.add("GET", "/debug/pprof/heap",
             [](const RoutedRequest&, const ResponderPtr& to) { sendText(*to, 200, heapText()); });
  router.add("GET", "/debug/pprof/cmdline", [](const RoutedRequest&, const ResponderPtr& to) {
    sendText(*to, 200, readFile("/proc/self/cmdline").value_or(""));
  });
}

HttpServer::Handler profilingHandler(Executor& executor) {
  const auto router = std::make_shared<Router>();
  addProfiling(*router, executor);
  return [router](ServerRequest request, std::shared_ptr<Responder> responder) {
    router->handle(std::move(request), std::move(responder));
  };
}

}  // namespace koord::net
