#pragma once

// An Api for unit tests: a function of the test answers calls, and the test feeds watches. Like
// older servers it refuses streaming lists, so informers list first.

#include <list>
#include <vector>

#include "kube/api.h"

namespace koord::kube {

// A watch that the server refuses.
class RefusedWatch final : public Watch {
 public:
  RefusedWatch(Executor& executor, WatchSink sink)
      : executor_(executor), timer_(executor.runAfter({}, [onClosed = std::move(sink.onClosed)] {
          onClosed({ErrorCode::Invalid, "sendInitialEvents: Forbidden", {}});
        })) {}
  ~RefusedWatch() override { executor_.cancel(timer_); }

 private:
  Executor& executor_;
  TimerId timer_;
};

class FakeApi final : public Api {
 public:
  struct OpenWatch {
    Request request;
    WatchSink sink;
  };

  explicit FakeApi(Executor& executor) : executor_(executor) {}

  // Returns the answer of a call. `calls` records every call.
  std::function<Result<std::string>(const Request&)> answer = [](const Request& request) {
    return Result<std::string>(fail(ErrorCode::NotFound, request.resource + " not found"));
  };
  std::vector<Request> calls;
  std::list<OpenWatch> watches;
  Duration latency = std::chrono::milliseconds(1);

  Task<Result<std::string>> call(Request request) override {
    calls.push_back(request);
    auto pause = sleepFor(executor_, latency);
    co_await pause;
    co_return answer(request);
  }

  std::unique_ptr<Watch> watch(Request request, WatchSink sink) override {
    if (request.query.contains("sendInitialEvents"))
      return std::make_unique<RefusedWatch>(executor_, std::move(sink));
    watches.push_back({std::move(request), std::move(sink)});
    return std::make_unique<Handle>(watches, std::prev(watches.end()));
  }

 private:
  struct Handle final : Watch {
    std::list<OpenWatch>& all;
    std::list<OpenWatch>::iterator mine;
    Handle(std::list<OpenWatch>& a, std::list<OpenWatch>::iterator m) : all(a), mine(m) {}
    ~Handle() override { all.erase(mine); }
  };
  Executor& executor_;
};

}  // namespace koord::kube
