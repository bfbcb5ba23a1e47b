#pragma once

// Where GPU readings come from, without waiting. The driver may take its time when a GPU is sick:
// it is asked on a thread of its own, and as long as it does not answer there are no new readings,
// and nothing else waits.

#include <atomic>
#include <functional>
#include <memory>

#include "koordlet/devices/gpu_reader.h"

namespace koord::koordlet {

class GpuSource {
 public:
  using Done = std::function<void(Result<GpuReading>)>;
  virtual ~GpuSource() = default;
  // Calls `done` on the executor's thread later, never after the source is gone. False when the
  // last reading has not ended.
  virtual bool read(Done done) = 0;
};

class NvmlSource final : public GpuSource {
 public:
  NvmlSource(Executor& executor, GpuReader reader);
  // Does not wait for a driver that hangs.
  ~NvmlSource() override;
  bool read(Done done) override;
  // Of all sources; those of sources that are gone may wait for the driver still.
  static int runningThreads() { return threads_; }

 private:
  static inline std::atomic<int> threads_ = 0;
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  Executor& executor_;
  std::shared_ptr<Shared> shared_;  // with the thread
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::koordlet
