#pragma once

// Replayer: the surroundings of a scheduler, played by a recording. It is the scheduler's executor,
// and with ReplayApi and ReplayTransport all else that a Recorder stood in front of. It runs the
// recorded turns in their order, gives the recorded readings of the clock and the recorded answers,
// and compares what the scheduler asks for and decides with what is recorded.
//
// After the first difference, or at the end of the recording, the turn ends with the clock at rest
// and without answers, and nothing runs after it.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/executor.h"
#include "kube/api.h"
#include "net/http_transport.h"
#include "scheduler/recording/pending.h"
#include "scheduler/recording/reader.h"

namespace koord::scheduler::recording {

// What the scheduler's owner does when a recorded input comes.
struct Inputs {
  std::function<void()> begin;
  std::function<void()> start;
  std::function<void()> lead;
  std::function<void()> stop;
  std::function<void(std::string_view method, std::string_view target, std::string_view body)> http;
};

class Replayer final : public Executor {
 public:
  struct Outcome {
    enum class Kind { Same, Different, Stopped } kind = Kind::Same;
    // Different: what the recording has next, and what the scheduler did instead.
    std::string recorded, replayed;
    std::uint64_t turns = 0;
    std::uint64_t decisions = 0;
    std::uint64_t bytes = 0;  // of objects and answers
    WallTime begin{};         // the first and the last reading of the clock
    WallTime end{};
    Reader::End source = Reader::End::Open;  // how far the recording is good
    std::string why;                         // see Reader::why
  };

  Replayer(Source& source, Inputs inputs);
  ~Replayer() override;

  // Runs everything. Once.
  Outcome run();
  // Ends the run after the current turn, from within it.
  void stop();

  WallTime wallNow() const override;
  SteadyTime steadyNow() const override;
  void post(Callback fn) override { posted_.push_back(std::move(fn)); }
  TimerId runAt(SteadyTime when, Callback fn) override;
  void cancel(TimerId timer) override { timers_.erase(timer); }

  // The scheduler asks for or decides something: compares it with the recording.
  void output(Item item, std::uint64_t number, std::string_view bytes);
  // The last readings of the clocks, without a new one.
  SteadyTime lastSteady() const { return SteadyTime(Duration(steady_)); }
  WallTime lastWall() const { return WallTime(Duration(steady_ + wallAhead_)); }
  // After the run was stopped: the next recorded decision about the pod; nullopt if there is none.
  std::optional<DecisionText> decisionAfter(const std::string& pod);

 private:
  friend class ReplayApi;
  friend class ReplayTransport;
  // Calls without an answer yet, by number.
  template <class T>
  using Waiting = std::map<std::uint64_t, std::weak_ptr<Pending<T>>>;

  // The next item if it is of this kind; nullptr if there is none, or after a difference.
  const Record* expect(Item item) const;
  void differ(std::string recorded, std::string replayed) const;
  void runTurn(const Record& record);
  template <class T>
  Task<T> ask(Waiting<T>* waiting, Item item, std::string request);
  template <class T>
  void deliver(Waiting<T>& waiting, const Record& record, T answer);
  bool advance(std::int64_t& reading, Item item, std::int64_t limit) const;
  void reply(const Record& record);
  void fetched(const Record& record);
  std::shared_ptr<kube::WatchSink> sinkOf(const Record& record) const;
  void event(const Record& record);
  void closed(const Record& record);
  void http(std::string_view bytes);
  void malformed(Item item) const;

  mutable Reader reader_;
  Inputs inputs_;
  mutable Outcome outcome_;
  mutable bool lost_ = false;  // a difference, or the end
  bool running_ = false;       // within a turn
  bool stopped_ = false;
  mutable std::int64_t steady_ = 0;
  mutable std::int64_t wallAhead_ = 0;
  std::deque<Callback> posted_;
  TimerId lastTimer_ = 0;
  std::unordered_map<TimerId, Callback> timers_;
  std::uint64_t numbers_ = 0;
  Waiting<Result<std::string>> calls_;
  Waiting<Result<net::HttpResponse>> fetches_;
  std::map<std::uint64_t, std::shared_ptr<kube::WatchSink>> watches_;
};

class ReplayApi final : public kube::Api {
 public:
  explicit ReplayApi(Replayer& replayer) : replayer_(replayer) {}

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;
  bool takesProtobuf() const override;

 private:
  Replayer& replayer_;
};

class ReplayTransport final : public net::HttpTransport {
 public:
  explicit ReplayTransport(Replayer& replayer) : replayer_(replayer) {}

  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest request) override;
  // Nothing comes.
  std::unique_ptr<net::Stream> stream(Executor& executor, net::HttpRequest request,
                                      net::StreamSink sink) override;

 private:
  Replayer& replayer_;
};

}  // namespace koord::scheduler::recording
