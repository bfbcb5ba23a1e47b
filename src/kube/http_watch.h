#pragma once

// A watch over HTTP: one answer that does not end, a JSON event per line.

#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "kube/api.h"
#include "net/http_types.h"

namespace koord::net {
class HttpClient;
}

namespace koord::kube {

class HttpWatch final : public Watch {
 public:
  // `request` gives the request when it may be sent, with credentials. `asked` names it in errors.
  // onRefused is called when the server answers 401.
  HttpWatch(net::HttpClient& client, Executor& executor, Task<Result<net::HttpRequest>> request,
            std::string asked, WatchSink sink, std::function<void()> onRefused);
  ~HttpWatch() override;

 private:
  class Running;
  std::shared_ptr<Running> running_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
