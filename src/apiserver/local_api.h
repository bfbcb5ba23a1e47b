#pragma once

// kube::Api calls into an embedded server, for components in the same process. Calls cross from the
// component's executor to the server's and back, so both may have their own threads; on one
// VirtualLoop they are the same executor.

#include <memory>

#include "apiserver/server/server.h"
#include "kube/api.h"

namespace koord::apiserver {

class LocalApi final : public kube::Api {
 public:
  // `executor` is the component's. The server must outlive every LocalApi. Do not call after the
  // component's or the server's executor has ended.
  LocalApi(Server& server, Executor& executor, User user = {});
  ~LocalApi() override;

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;

 private:
  class Inbox;
  Server& server_;
  Executor& executor_;
  User user_;
  std::shared_ptr<Inbox> inbox_;  // lives on the server's executor
};

}  // namespace koord::apiserver
