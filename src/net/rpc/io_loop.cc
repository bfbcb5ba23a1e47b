#include "net/rpc/io_loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <string>
#include <utility>

namespace koord::net {
namespace {

constexpr std::uint64_t kWake = 0;  // not the id of a watch
constexpr int kEventsAtOnce = 64;

}  // namespace

IoLoop::Watch::~Watch() {
  ::epoll_ctl(loop_.epoll_, EPOLL_CTL_DEL, fd_, nullptr);
  loop_.watched_.erase(id_);
}

void IoLoop::Watch::want(Ready interest) {
  if (interest.read == interest_.read && interest.write == interest_.write) return;
  interest_ = interest;
  epoll_event event{};
  event.events = (interest.read ? EPOLLIN : 0U) | (interest.write ? EPOLLOUT : 0U);
  event.data.u64 = id_;
  ::epoll_ctl(loop_.epoll_, EPOLL_CTL_MOD, fd_, &event);
}

IoLoop::IoLoop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWake;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
}

IoLoop::~IoLoop() {
  ::close(wake_);
  ::close(epoll_);
}

WallTime IoLoop::wallNow() const {
  return std::chrono::system_clock::now();
}

SteadyTime IoLoop::steadyNow() const {
  return std::chrono::steady_clock::now();
}

void IoLoop::post(Callback fn) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(fn));
  }
  // Callbacks posted by the loop itself, which are most, find it awake.
  if (!waiting_.exchange(false)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

TimerId IoLoop::runAt(SteadyTime when, Callback fn) {
  return timers_.add(when, std::move(fn));
}

void IoLoop::cancel(TimerId timer) {
  timers_.cancel(timer);
}

std::unique_ptr<IoLoop::Watch> IoLoop::watch(int fd, OnReady onReady) {
  const std::uint64_t id = ++lastId_;
  watched_.emplace(id, std::make_shared<OnReady>(std::move(onReady)));
  epoll_event event{};
  event.data.u64 = id;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  return std::unique_ptr<Watch>(new Watch(*this, fd, id));
}

void IoLoop::run() {
  while (!stopped_.exchange(false)) {
    runPosted();
    const SteadyTime now = steadyNow();
    while (auto fn = timers_.takeDue(now)) fn();
    wait();
  }
}

void IoLoop::runPosted() {
  std::vector<Callback> batch;
  {
    std::lock_guard lock(mutex_);
    batch.swap(posted_);
  }
  for (auto& fn : batch) fn();
}

void IoLoop::wait() {
  waiting_ = true;
  int timeout = -1;
  {
    std::lock_guard lock(mutex_);
    if (!posted_.empty() || stopped_) timeout = 0;
  }
  if (const auto next = timers_.next(); next && timeout != 0)
    timeout = static_cast<int>(std::clamp<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(*next - steadyNow()).count(), 0, 3'600'000));
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, timeout);
  waiting_ = false;
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWake) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto drained = ::read(wake_, &ignored, sizeof ignored);
      continue;
    }
    const auto found = watched_.find(event.data.u64);
    if (found == watched_.end()) continue;  // destroyed in this round
    const auto onReady = found->second;
    const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    (*onReady)({.read = (event.events & EPOLLIN) != 0 || broken,
                .write = (event.events & EPOLLOUT) != 0 || broken});
  }
}

void IoLoop::stop() {
  stopped_ = true;
  post([] {});
}

IoThread::IoThread(const char* name) : thread_([this] { loop_.run(); }) {
  pthread_setname_np(thread_.native_handle(), std::string(name).substr(0, 15).c_str());
}

IoThread::~IoThread() {
  loop_.stop();
  thread_.join();
}

void IoThread::runSync(Callback fn) {
  // The thread may still be in set_value() when this function continues.
  auto done = std::make_shared<std::promise<void>>();
  loop_.post([&fn, done] {
    fn();
    done->set_value();
  });
  done->get_future().wait();
}

}  // namespace koord::net
