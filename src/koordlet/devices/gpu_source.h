#pragma once

// Where GPU readings come from, without waiting. The driver may take its time when a GPU is sick:
// it is asked on a thread of its own, and as long as it does not answer there are no new readings,
// and nothing else waits.

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

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  Executor& executor_;
  std::shared_ptr<Shared> shared_;  // with the thread
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::koordlet
