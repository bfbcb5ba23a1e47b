#include "apiserver/role_api.h"

#include <fmt/format.h>

#include "apiserver/authz/attributes.h"

namespace koord::apiserver {

namespace {

// A rejected watch: it ends with the reason, unless it is destroyed before.
class RefusedWatch final : public kube::Watch {
 public:
  RefusedWatch(Executor& executor, kube::WatchSink sink, Error error)
      : sink_(std::make_shared<kube::WatchSink>(std::move(sink))) {
    executor.post([weak = std::weak_ptr(sink_), error = std::move(error)]() mutable {
      const auto sink = weak.lock();
      if (sink && sink->onClosed) sink->onClosed(std::move(error));
    });
  }

 private:
  std::shared_ptr<kube::WatchSink> sink_;
};

}  // namespace

RoleApi::RoleApi(Server& server, Executor& executor, User user,
                 std::function<void(const std::string& why)> denied, RoleUse* use)
    : server_(server),
      executor_(executor),
      user_(user),
      denied_(std::move(denied)),
      use_(use),
      api_(server, executor, std::move(user)) {}

Result<> RoleApi::mayDo(const kube::Request& request) {
  auto* authorizer = server_.authorizer();
  if (!authorizer) return {};
  const Call call{request, user_};
  const auto attributes = attributesOf(call);
  if (authorizer->require(attributes)) {
    if (use_) use_->note(attributes);
    return {};
  }
  const std::string why = deniedText(attributes);
  if (denied_) denied_(why);
  return fail(ErrorCode::Forbidden, why);
}

Task<Result<std::string>> RoleApi::call(kube::Request request) {
  if (auto allowed = mayDo(request); !allowed) co_return fail(std::move(allowed.error()));
  auto calling = api_.call(std::move(request));
  co_return co_await calling;
}

std::unique_ptr<kube::Watch> RoleApi::watch(kube::Request request, kube::WatchSink sink) {
  if (auto allowed = mayDo(request); !allowed)
    return std::make_unique<RefusedWatch>(executor_, std::move(sink), std::move(allowed.error()));
  return api_.watch(std::move(request), std::move(sink));
}

}  // namespace koord::apiserver
