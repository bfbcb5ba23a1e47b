#include "net/zpages.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <map>

namespace koord::net {

namespace {

constexpr std::string_view kWarning =
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only.\n";

std::string uptimeText(Duration up) {
  using namespace std::chrono;
  const auto whole = duration_cast<seconds>(up).count();
  return fmt::format("{} hr {:02} min {:02} sec", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

void addZPages(Router& router, ZPages pages, const Clock& clock) {
  std::ranges::sort(pages.flags);
  std::ranges::sort(pages.paths);
  std::string flagz = fmt::format("\n{} flagz\n{}", pages.component, kWarning);
  for (const auto& [name, value] : pages.flags) flagz += fmt::format("{}={}\n", name, value);
  router.add("GET", "/flagz", [flagz](const RoutedRequest&, const std::shared_ptr<Responder>& to) {
    sendText(*to, 200, flagz);
  });
  const std::string head = fmt::format(
      "\n{} statusz\n{}\nStarted= {:%a %b %d %H:%M:%S UTC %Y}\n", pages.component, kWarning,
      fmt::gmtime(std::chrono::system_clock::to_time_t(
          std::chrono::time_point_cast<std::chrono::system_clock::duration>(clock.wallNow()))));
  const std::string tail =
      fmt::format("Binary version= {}\nPaths= {}\n",
                  pages.version.starts_with('v') ? pages.version.substr(1) : pages.version,
                  fmt::join(pages.paths, " "));
  router.add("GET", "/statusz",
             [head, tail, &clock, since = clock.steadyNow()](const RoutedRequest&,
                                                             const std::shared_ptr<Responder>& to) {
               sendText(
                   *to, 200,
                   fmt::format("{}Up= {}\n{}", head, uptimeText(clock.steadyNow() - since), tail));
             });
}

}  // namespace koord::net
