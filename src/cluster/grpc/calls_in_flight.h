#pragma once

// The pending calls of a gRPC client. gRPC answers on its own threads, and this class handles two
// consequences: the caller may end before the answer arrives; and a call may hold the last
// reference to its channel, whose destructor waits for gRPC's threads and so must not run on one of
// them.

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "base/executor.h"

namespace koord::cluster {

class CallsInFlight {
 public:
  // Objects that calls hold are released on the executor, which outlives this.
  explicit CallsInFlight(Executor& executor) : executor_(executor) {}
  // Cancels pending calls, and waits until gRPC has released them.
  ~CallsInFlight() {
    std::unique_lock lock(mutex_);
    for (auto* context : contexts_) context->TryCancel();
    idle_.wait(lock, [this] { return inFlight_ == 0; });
  }

  std::size_t unanswered() {
    std::lock_guard lock(mutex_);
    return contexts_.size();
  }

  // A Call has a ClientContext `context` and everything else that must live until the answer.
  // `send(call, callback)` passes it to a stub; `done(status, call)` runs on a thread of gRPC. Any
  // thread.
  template <class Call, class Send, class Done>
  void begin(std::shared_ptr<Call> call, Send send, Done done) {
    Call& sent = *call;
    {
      std::lock_guard lock(mutex_);
      contexts_.insert(&sent.context);
      ++inFlight_;
    }
    send(sent,
         [this, call = std::move(call), done = std::move(done)](::grpc::Status status) mutable {
           done(status, *call);
           {
             // While the context exists: the next one may have its address.
             std::lock_guard lock(mutex_);
             contexts_.erase(&call->context);
           }
           executor_.post([call = std::move(call)] {});
           std::lock_guard lock(mutex_);
           --inFlight_;
           idle_.notify_all();
         });
  }

 private:
  Executor& executor_;
  std::mutex mutex_;
  std::condition_variable idle_;
  // Guarded by mutex_:
  std::set<::grpc::ClientContext*> contexts_;  // of calls without an answer
  std::size_t inFlight_ = 0;                   // calls that gRPC has not released
};

}  // namespace koord::cluster
