#pragma once

// Recorder: stands between a scheduler and its surroundings, and writes down everything that
// passes. The scheduler gets it as its executor, RecordingApi as its API and RecordingTransport as
// its way to extenders. All that the scheduler does is a function of what passes here, so a
// Replayer (replayer.h) can repeat it.
//
// A turn is one call into the scheduler: a callback, a timer, an answer, an event of a watch, or an
// input of its owner. Only what happens within a turn is recorded. Calls outside of turns, such as
// those of HTTP pages and destructors, pass through.
//
// Everything runs on the inner executor's thread; post() may be called on any thread. Destroy it
// after the scheduler, and outside of turns.

#include <memory>
#include <thread>
#include <unordered_map>

#include "base/executor.h"
#include "base/task.h"
#include "kube/api.h"
#include "net/http_transport.h"
#include "scheduler/recording/writer.h"

namespace koord::scheduler::recording {

class Recorder final : public Executor {
 public:
  Recorder(Executor& inner, Writer& writer);
  ~Recorder() override;

  WallTime wallNow() const override;
  SteadyTime steadyNow() const override;
  void post(Callback fn) override;
  TimerId runAt(SteadyTime when, Callback fn) override;
  void cancel(TimerId timer) override;

  // Runs fn as a turn of this kind. Must not be called within a turn.
  template <class Fn>
  void turn(Item item, std::uint64_t number, std::string_view bytes, std::string_view more,
            Fn&& fn) {
    writer_.add(item, number, bytes, more);
    runTurn(fn);
  }
  // For inputs of the scheduler's owner, which may come within a turn: then fn joins that turn.
  template <class Fn>
  void input(Item item, std::string_view bytes, Fn&& fn) {
    if (inTurn()) return fn();
    turn(item, 0, bytes, {}, fn);
  }
  bool inTurn() const { return std::this_thread::get_id() == thread_ && running_; }

  // Within a turn: what the scheduler asks for or decides.
  void output(Item item, std::uint64_t number, std::string_view bytes) {
    if (inTurn()) writer_.add(item, number, bytes);
  }
  void output(Item item, std::uint64_t number) {
    if (inTurn()) writer_.add(item, number);
  }
  std::uint64_t nextNumber() { return ++numbers_; }
  Executor& inner() { return inner_; }

 private:
  // Timers that are set outside of turns have the inner executor's number with this bit.
  static constexpr TimerId kUntracked = TimerId{1} << 63;

  template <class Fn>
  void runTurn(Fn& fn) {
    struct End {
      bool& running;
      ~End() { running = false; }
    } end{running_};
    running_ = true;
    fn();
  }

  Executor& inner_;
  Writer& writer_;
  const std::thread::id thread_;  // of the scheduler
  bool running_ = false;          // within a turn
  std::uint64_t numbers_ = 0;     // of calls and watches
  TimerId lastTimer_ = 0;
  std::unordered_map<TimerId, TimerId> timers_;  // those of inner_
  mutable std::int64_t steady_ = 0;              // the last readings
  mutable std::int64_t wallAhead_ = 0;
  // Set to false on destruction: callbacks that are left in inner_ check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class RecordingApi final : public kube::Api {
 public:
  RecordingApi(Recorder& recorder, kube::Api& inner) : recorder_(recorder), inner_(inner) {}

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;
  bool takesProtobuf() const override;

 private:
  Recorder& recorder_;
  kube::Api& inner_;
  TaskGroup calls_;
};

class RecordingTransport final : public net::HttpTransport {
 public:
  RecordingTransport(Recorder& recorder, net::HttpTransport& inner)
      : recorder_(recorder), inner_(inner) {}

  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest request) override;
  // Not recorded: extenders answer at once.
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override;

 private:
  Recorder& recorder_;
  net::HttpTransport& inner_;
  TaskGroup calls_;
};

// The parts of a request to an extender that are recorded.
std::string encodeFetch(const net::HttpRequest& request);

}  // namespace koord::scheduler::recording
