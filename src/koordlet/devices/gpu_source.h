#pragma once

// GPU readings without blocking the actor. The driver may hang when a GPU is unhealthy, so a
// separate thread calls it. While the driver does not answer, there are no new readings, and
// nothing else waits.

#include <atomic>
#include <functional>
#include <memory>

#include "koordlet/devices/gpu_reader.h"

namespace koord::koordlet {

class GpuSource {
 public:
  using Done = std::function<void(Result<GpuReading>)>;
  virtual ~GpuSource() = default;
  // Calls `done` later on the executor's thread, never after the source is destroyed. Returns false
  // if the last reading has not ended; then `done` is not called.
  virtual bool read(Done done) = 0;
};

class NvmlSource final : public GpuSource {
 public:
  NvmlSource(Executor& executor, GpuReader reader);
  // Does not wait for a hanging driver.
  ~NvmlSource() override;
  bool read(Done done) override;
  // The threads of all sources. The thread of a destroyed source may still wait for the driver.
  static int runningThreads() { return threads_; }

 private:
  static inline std::atomic<int> threads_ = 0;
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  Executor& executor_;
  std::shared_ptr<Shared> shared_;  // shared with the thread
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::koordlet
