#pragma once

// Samples the stacks of running threads by a signal (SIGPROF) that the kernel sends as the process
// uses CPU time. One sampler per process at a time.

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

  // Ends the sampling and returns the profile in gperftools' format. Call it once.
  std::string finish();

 private:
  struct Samples;
  explicit CpuSampler(std::unique_ptr<Samples> samples);
  void stop();

  static void onSignal(int signal);
  // The buffer of the signal handler, which can only reach globals.
  static std::atomic<Samples*> current_;

  std::unique_ptr<Samples> samples_;
};

}  // namespace koord::net
