#pragma once

// A watch over HTTP: an answer that does not end, a JSON event per line.

#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "kube/api.h"
#include "net/http_types.h"

namespace koord::net {
class HttpTransport;
}

namespace koord::kube {

class HttpWatch final : public Watch {
 public:
  // `request` gives the request when it may be sent, with credentials. `asked` names it in errors.
  // onAnswer is called once with the status; 0 if no answer came.
  HttpWatch(net::HttpTransport& transport, Executor& executor,
            Task<Result<net::HttpRequest>> request, std::string requestText, WatchSink sink,
            std::function<void(int status)> onAnswer);
  ~HttpWatch() override;

 private:
  class Running;
  std::shared_ptr<Running> running_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
