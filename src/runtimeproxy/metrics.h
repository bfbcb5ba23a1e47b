#pragma once

// The metrics of koord-runtime-proxy.

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"

namespace koord::runtimeproxy {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // `method`: an intercepted method, or "other".
  void called(std::string_view method, bool ok, Duration took);
  void hookCalled(std::string_view hook, bool ok, Duration took);
  void known(std::size_t pods, std::size_t containers);
  void connections(std::size_t open);
  void runtimeUnreachable();

  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::runtimeproxy
