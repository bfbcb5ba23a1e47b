#pragma once

// kube::Api calls into an embedded server as a given user: returns Forbidden for calls that the
// server's roles do not allow, as over HTTP. So components in the server's process can be tested
// with the roles that they are shipped with.
//
// The server must run on the component's executor, as on a VirtualLoop, and have RBAC on; otherwise
// everything is allowed. Refusals are passed to `denied` and allowed calls are added to `use`, for
// tests.

#include <functional>
#include <string>

#include "apiserver/authz/role_use.h"
#include "apiserver/local_api.h"

namespace koord::apiserver {

class RoleApi final : public kube::Api {
 public:
  RoleApi(Server& server, Executor& executor, User user,
          std::function<void(const std::string& why)> denied = {}, RoleUse* use = nullptr);

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;

 private:
  Result<> mayDo(const kube::Request& request);

  Server& server_;
  Executor& executor_;
  User user_;
  std::function<void(const std::string& why)> denied_;
  RoleUse* use_;
  LocalApi api_;
};

}  // namespace koord::apiserver
