#include "koordlet/devices/gpu_source.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace koord::koordlet {

struct NvmlSource::Shared {
  Shared(Executor& executor, GpuReader reader) : executor(&executor), reader(std::move(reader)) {}

  std::mutex mutex;
  std::condition_variable wake;
  Executor* executor;  // null after the source is destroyed
  bool wanted = false;
  SteadyTime now{};
  Callback answer;  // posted when the reading is complete
  Result<GpuReading> result = GpuReading{};
  GpuReader reader;  // used by the thread only
};

NvmlSource::NvmlSource(Executor& executor, GpuReader reader)
    : executor_(executor), shared_(std::make_shared<Shared>(executor, std::move(reader))) {
  ++threads_;
  std::thread([shared = shared_]() mutable {
    run(shared);
    shared.reset();  // closes the library
    --threads_;
  }).detach();
}

NvmlSource::~NvmlSource() {
  *alive_ = false;
  const std::lock_guard lock(shared_->mutex);
  shared_->executor = nullptr;
  shared_->wake.notify_all();
}

bool NvmlSource::read(Done done) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->wanted) return false;
  shared_->wanted = true;
  shared_->now = executor_.steadyNow();
  shared_->answer = [shared = shared_, alive = alive_, done = std::move(done)] {
    if (!*alive) return;
    Result<GpuReading> result = GpuReading{};
    {
      const std::lock_guard answered(shared->mutex);
      result = std::move(shared->result);
      shared->wanted = false;
    }
    done(std::move(result));
  };
  shared_->wake.notify_all();
  return true;
}

void NvmlSource::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->wake.wait(lock, [&] { return !shared->executor || shared->answer; });
    if (!shared->executor) break;
    const SteadyTime now = shared->now;
    lock.unlock();
    auto result = shared->reader.read(now);
    lock.lock();
    if (!shared->executor) break;
    shared->result = std::move(result);
    shared->executor->post(std::exchange(shared->answer, nullptr));
  }
  shared->answer = nullptr;  // it holds a reference to `shared`: breaks the cycle
}

}  // namespace koord::koordlet
