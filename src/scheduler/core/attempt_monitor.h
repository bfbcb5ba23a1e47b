#pragma once

// AttemptMonitor: logs and counts attempts that take too long, once each, from the start of the
// attempt until the pod is bound or back in the queue. Also reports the age of the oldest attempt.
//
//   monitor.begin(attempt.watch, pod, profile);   // ends with the attempt
//
// A watch allocates no memory. The periodic check visits late attempts only.

#include <boost/intrusive/list.hpp>
#include <map>
#include <memory>
#include <string>

#include "base/executor.h"
#include "scheduler/framework/observer.h"

namespace koord::scheduler {

class AttemptMonitor {
 public:
  struct Options {
    Duration period = std::chrono::seconds(10);
    Duration timeout = std::chrono::seconds(30);
  };

  // A running attempt, until end() or destruction.
  class Watch : public boost::intrusive::list_base_hook<
                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    Watch() = default;
    ~Watch() { end(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // The attempt has ended.
    void end();

   private:
    friend class AttemptMonitor;
    AttemptMonitor* monitor_ = nullptr;
    PodPtr pod_;
    const std::string* profile_ = nullptr;
    SteadyTime since_{};
    bool reported_ = false;
  };

  // Arguments must outlive it, and it must outlive all watches; observer may be nullptr.
  AttemptMonitor(Executor& executor, Options options, Observer* observer)
      : executor_(executor), options_(options), observer_(observer) {}
  ~AttemptMonitor() { executor_.cancel(timer_); }
  AttemptMonitor(const AttemptMonitor&) = delete;
  AttemptMonitor& operator=(const AttemptMonitor&) = delete;

  void start();
  // profile: its name, which must outlive the watch.
  void begin(Watch& watch, PodPtr pod, const std::string& profile);
  // The age of the oldest attempt of each profile; profiles without attempts are absent.
  std::map<std::string, Duration> oldest() const;

 private:
  void check();
  void reportIfLate(Watch& watch);

  Executor& executor_;
  const Options options_;
  Observer* observer_;
  // In the order of their start.
  boost::intrusive::list<Watch, boost::intrusive::constant_time_size<false>> watches_;
  TimerId timer_ = 0;
};

}  // namespace koord::scheduler
