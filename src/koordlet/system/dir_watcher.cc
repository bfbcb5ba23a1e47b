#include "koordlet/system/dir_watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/fd.h"

// The thread waits for inotify and for an eventfd that ends it. Numbers of watches become names
// under a lock, since the actor adds watches while the thread reads events.

namespace koord::koordlet {

struct DirWatcher::Shared {
  std::mutex mutex;
  Fd inotify;
  Fd wake;
  Executor* executor = nullptr;  // null once the watcher is gone
  OnEvent onEvent;               // called on the executor alone
  std::unordered_map<int, std::string> dirs;
  std::unordered_map<std::string, int> numbers;

  void take(const inotify_event& event, std::vector<Event>& events);
  void readAll(const std::shared_ptr<Shared>& self);
};

namespace {

constexpr std::uint32_t kMade = IN_CREATE | IN_MOVED_TO;
constexpr std::uint32_t kRemoved = IN_DELETE | IN_MOVED_FROM;

std::uint32_t maskOf(DirWatcher::Interest interest) {
  using enum DirWatcher::Interest;
  return (interest != Files ? kMade | kRemoved : 0) | (interest != Directories ? IN_MODIFY : 0);
}

// The kernel itself updates these files and reports that as a write: memory.events,
// memory.events.local.
bool countsEvents(std::string_view name) {
  return name.ends_with(".events") || name.ends_with(".events.local");
}

}  // namespace

void DirWatcher::Shared::take(const inotify_event& event, std::vector<Event>& events) {
  if (event.mask & IN_Q_OVERFLOW) return events.push_back({ChangeKind::Lost, "", ""});
  const auto found = dirs.find(event.wd);
  if (found == dirs.end()) return;
  if (event.mask & IN_IGNORED) {
    // A new directory of the same name may already be watched.
    const auto now = numbers.find(found->second);
    if (now != numbers.end() && now->second == event.wd) numbers.erase(now);
    dirs.erase(found);
    return;
  }
  const std::string name = event.len > 0 ? event.name : "";
  if (event.mask & kMade && event.mask & IN_ISDIR) {
    events.push_back({ChangeKind::Created, found->second, name});
  } else if (event.mask & kRemoved && event.mask & IN_ISDIR) {
    events.push_back({ChangeKind::Removed, found->second, name});
  } else if (event.mask & IN_MODIFY && !countsEvents(name)) {
    events.push_back({ChangeKind::Written, found->second, name});
  }
}

void DirWatcher::Shared::readAll(const std::shared_ptr<Shared>& self) {
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  for (;;) {
    const ssize_t size = ::read(inotify.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    const std::lock_guard lock(mutex);
    if (!executor) return;
    std::vector<Event> events;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      take(*event, events);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    if (events.empty()) continue;
    executor->post([self, events = std::move(events)] {
      for (const auto& event : events)
        if (self->onEvent) self->onEvent(event);
    });
  }
}

DirWatcher::DirWatcher(Executor& executor, OnEvent onEvent) : shared_(std::make_shared<Shared>()) {
  shared_->executor = &executor;
  shared_->onEvent = std::move(onEvent);
  shared_->inotify.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  shared_->wake.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!shared_->inotify || !shared_->wake) return;  // watch() says so
  std::thread([shared = shared_] {
    for (;;) {
      std::array<pollfd, 2> fds{
          {{shared->inotify.get(), POLLIN, 0}, {shared->wake.get(), POLLIN, 0}}};
      if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
      if (fds[1].revents != 0) return;
      shared->readAll(shared);
    }
  }).detach();
}

DirWatcher::~DirWatcher() {
  // Drops posted events: they run on this thread after the destructor.
  shared_->onEvent = nullptr;
  const std::lock_guard lock(shared_->mutex);
  shared_->executor = nullptr;
  const std::uint64_t one = 1;
  if (shared_->wake) (void)!::write(shared_->wake.get(), &one, sizeof one);
}

Result<> DirWatcher::watch(const std::string& dir, Interest interest) {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->inotify) return fail(ErrorCode::Io, "inotify is not available");
  const int number = ::inotify_add_watch(shared_->inotify.get(), dir.c_str(),
                                         maskOf(interest) | IN_ONLYDIR | IN_MASK_ADD);
  if (number < 0) return fail(errnoError("watch " + dir, errno));
  shared_->dirs[number] = dir;
  shared_->numbers[dir] = number;
  return {};
}

bool DirWatcher::watches(const std::string& dir) const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->numbers.contains(dir);
}

std::size_t DirWatcher::size() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->numbers.size();
}

}  // namespace koord::koordlet
