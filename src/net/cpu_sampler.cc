#include "net/cpu_sampler.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/file.h"

namespace koord::net {
namespace {

using Word = std::uintptr_t;

constexpr int kPeriodMicros = 10'000;
constexpr int kMaxDepth = 64;
// The frames of the handler itself and of the kernel's call of it.
constexpr int kOwnFrames = 2;
// 8 MiB: the samples of four minutes of CPU time with stacks of 40 frames.
constexpr std::size_t kMaxWords = 1 << 20;

void setTimer(int micros) {
  const timeval period{0, micros};
  const itimerval timer{period, period};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

// Filled by handlers on any number of threads at once: each reserves its part first.
struct CpuSampler::Samples {
  std::vector<Word> words = std::vector<Word>(kMaxWords);
  std::atomic<std::size_t> reserved = 0;
  std::atomic<std::size_t> filled = 0;  // the end of the last part that fit
  std::atomic<int> writing = 0;
  struct sigaction before{};

  void add(void* const* frames, int depth) {
    const std::size_t size = static_cast<std::size_t>(depth) + 2;
    const std::size_t at = reserved.fetch_add(size);
    if (at + size > words.size()) return;
    words[at] = 1;
    words[at + 1] = static_cast<Word>(depth);
    for (int i = 0; i < depth; ++i) words[at + 2 + i] = reinterpret_cast<Word>(frames[i]);
    for (std::size_t seen = filled;
         seen < at + size && !filled.compare_exchange_weak(seen, at + size);) {
    }
  }
};

std::atomic<CpuSampler::Samples*> CpuSampler::current_ = nullptr;

void CpuSampler::onSignal(int) {
  const int saved = errno;
  if (Samples* const samples = current_) {
    samples->writing.fetch_add(1);
    // Checked again, because it may have been removed before this handler was counted.
    if (current_ == samples) {
      std::array<void*, kMaxDepth + kOwnFrames> frames;
      const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
      if (depth > kOwnFrames) samples->add(frames.data() + kOwnFrames, depth - kOwnFrames);
    }
    samples->writing.fetch_sub(1);
  }
  errno = saved;
}

CpuSampler::CpuSampler(std::unique_ptr<Samples> samples) : samples_(std::move(samples)) {}

Result<std::unique_ptr<CpuSampler>> CpuSampler::start() {
  auto samples = std::make_unique<Samples>();
  // The first call loads a library, which a signal handler must not.
  std::array<void*, 1> frame;
  ::backtrace(frame.data(), 1);
  Samples* nobody = nullptr;
  if (!current_.compare_exchange_strong(nobody, samples.get()))
    return fail(ErrorCode::Conflict, "another CPU profile is in progress; try again later");
  struct sigaction action{};
  action.sa_handler = &CpuSampler::onSignal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, &samples->before);
  setTimer(kPeriodMicros);
  return std::unique_ptr<CpuSampler>(new CpuSampler(std::move(samples)));
}

CpuSampler::~CpuSampler() {
  stop();
}

void CpuSampler::stop() {
  if (!samples_) return;
  setTimer(0);
  current_ = nullptr;
  while (samples_->writing > 0) std::this_thread::yield();
  // A pending signal would end the process if it had no handler.
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPROF, samples_->before.sa_handler == SIG_DFL ? &ignore : &samples_->before,
              nullptr);
}

std::string CpuSampler::finish() {
  stop();
  const auto samples = std::move(samples_);
  std::string profile;
  const auto put = [&](const Word* words, std::size_t count) {
    profile.append(reinterpret_cast<const char*>(words), count * sizeof(Word));
  };
  constexpr std::array<Word, 5> kHeader{0, 3, 0, kPeriodMicros, 0};
  constexpr std::array<Word, 3> kTrailer{0, 1, 0};
  put(kHeader.data(), kHeader.size());
  put(samples->words.data(), samples->filled);
  put(kTrailer.data(), kTrailer.size());
  profile += readFile("/proc/self/maps").value_or("");
  return profile;
}

}  // namespace koord::net
