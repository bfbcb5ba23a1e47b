#pragma once

// AttemptMonitor: warns of attempts to place a pod that take too long, from the start of the attempt
// until the pod is bound or back in the queue, and counts them: once each, however long they take. How
// long the oldest one has been going on is for everybody to see.
//
//   monitor.begin(attempt.watch, pod, profile);   // ends with the attempt
//
// Watching costs no memory of its own, and the periodic look only what is late.

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

  // An attempt under way, until end() or until it is destroyed.
  class Watch : public boost::intrusive::list_base_hook<
                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    Watch() = default;
    ~Watch() { end(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // Nobody waits for it any more.
    void end();

   private:
    friend class AttemptMonitor;
    AttemptMonitor* monitor_ = nullptr;
    PodPtr pod_;
    const std::string* profile_ = nullptr;
    SteadyTime since_{};
    bool told_ = false;
  };

  // All must outlive it, and it all watches; observer may be nullptr.
  AttemptMonitor(Executor& executor, Options options, Observer* observer)
      : executor_(executor), options_(options), observer_(observer) {}
  ~AttemptMonitor() { executor_.cancel(timer_); }
  AttemptMonitor(const AttemptMonitor&) = delete;
  AttemptMonitor& operator=(const AttemptMonitor&) = delete;

  void start();
  // profile: its name, which must outlive the watch.
  void begin(Watch& watch, PodPtr pod, const std::string& profile);
  // How long the oldest attempt of each profile has been going on; nothing for those without one.
  std::map<std::string, Duration> oldest() const;

 private:
  void look();
  void tellIfLate(Watch& watch);

  Executor& executor_;
  const Options options_;
  Observer* observer_;
  // In the order in which they began.
  boost::intrusive::list<Watch, boost::intrusive::constant_time_size<false>> watches_;
  TimerId timer_ = 0;
};

}  // namespace koord::scheduler
