#pragma once

// Takes the stack of whichever thread is running, again and again, by a signal (SIGPROF) that the
// kernel sends as CPU time is used. One per process at a time.

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"

namespace koord::net {

class CpuSampler {
 public:
  // Fails with Conflict while another one runs.
  static Result<std::unique_ptr<CpuSampler>> start();
  ~CpuSampler();

  // Ends the sampling; the profile in gperftools' format. Once.
  std::string finish();

 private:
  struct Samples;
  explicit CpuSampler(std::unique_ptr<Samples> samples);
  void stop();

  static void onSignal(int signal);
  // What the signal handler writes into; a handler can only be reached through a global.
  static std::atomic<Samples*> current_;

  std::unique_ptr<Samples> samples_;
};

}  // namespace koord::net
