#include "kube/leader_address.h"

#include <fmt/format.h>

#include "api/core.h"
#include "api/pod.h"
#include "kube/client.h"
#include "kube/secure_serving.h"

namespace koord::kube {

Task<Result<LeaderAddress>> findLeader(Api& api, api::ObjectKey lease, std::int64_t port) {
  auto reading = get<api::Lease>(api, lease);
  const auto held = co_await reading;
  if (!held) co_return fail(Error(held.error()).within("the lease " + lease.toString()));
  const auto* certificate = api::findIn(held->metadata.annotations, kServingCertificate);
  const std::string_view holder = held->spec.holderIdentity;
  const api::ObjectKey podKey{lease.namespace_, std::string(holder.substr(0, holder.rfind('_')))};
  auto readingPod = get<api::Pod>(api, podKey);
  const auto pod = co_await readingPod;
  if (!pod) co_return fail(Error(pod.error()).within("the pod that holds the lease"));
  if (pod->status.podIP.empty())
    co_return fail(ErrorCode::Unavailable, fmt::format("pod {} has no address", podKey.toString()));
  const std::string_view address = pod->status.podIP.view();
  const bool six = address.find(':') != address.npos;
  co_return LeaderAddress{
      fmt::format("https://{}{}{}:{}", six ? "[" : "", address, six ? "]" : "", port),
      certificate ? *certificate : std::string()};
}

}  // namespace koord::kube
