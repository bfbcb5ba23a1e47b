#pragma once

// ReadOnlyApi: an Api that refuses every request that would change the cluster, and counts it. A
// shadow gets no other Api, so no plugin can write by mistake. Reads and watches pass. So do
// reviews of tokens and of access, which store nothing: the secure port needs them.

#include <map>
#include <string>

#include "kube/api.h"

namespace koord::scheduler {

class ReadOnlyApi final : public kube::Api {
 public:
  // `inner` must outlive it.
  explicit ReadOnlyApi(kube::Api& inner) : inner_(inner) {}

  // Forbidden for a request that would write.
  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    return inner_.watch(std::move(request), std::move(sink));
  }
  bool takesProtobuf() const override { return inner_.takesProtobuf(); }

  // Refused requests by verb and resource: {"create events": 3}.
  const std::map<std::string, std::uint64_t>& refused() const { return refused_; }

 private:
  kube::Api& inner_;
  std::map<std::string, std::uint64_t> refused_;
};

// True if the request changes nothing in the cluster.
bool isReadOnly(const kube::Request& request);

}  // namespace koord::scheduler
