#pragma once

// An Api that tells whether the server refuses the watch of a reflector: at the beginning, because
// the credentials may list but not watch, or later, because a role has changed. A Reflector keeps
// what it knows and tries again, so its rows would look complete and current.

#include <functional>
#include <memory>

#include "kube/api.h"

namespace koord::console {

class RefusalsApi final : public kube::Api {
 public:
  // With an error once the server refuses (Forbidden, Unauthorized or NotFound), with nullptr once
  // events arrive after that.
  using OnChange = std::function<void(const Error* refusal)>;

  // `api` must outlive it.
  RefusalsApi(kube::Api& api, OnChange onChange) : api_(api), onChange_(std::move(onChange)) {}

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;
  bool takesProtobuf() const override { return api_.takesProtobuf(); }

 private:
  void note(const Error& error);

  kube::Api& api_;
  const OnChange onChange_;
  bool refused_ = false;
};

}  // namespace koord::console
