#include "scheduler/oracle/forked.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "scheduler/oracle/budget.h"
#include "scheduler/oracle/template_process.h"

namespace koord::scheduler::oracle {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMaxText = 128 << 20;
constexpr std::chrono::milliseconds kGlance{100};  // between looks at `cancelled`

Error systemError(const char* what) {
  return errnoError(what, errno);
}

}  // namespace

bool OfferedTexts::append(std::string_view bytes) {
  open_ += bytes;
  return takeTexts();
}

bool OfferedTexts::takeTexts() {
  std::uint64_t size = 0;
  while (open_.size() >= sizeof(size) + heldBack_) {
    std::memcpy(&size, open_.data(), sizeof(size));
    if (size > kMaxText) return false;
    if (open_.size() - sizeof(size) - heldBack_ < size) break;
    last_ = open_.substr(sizeof(size), size);
    open_.erase(0, sizeof(size) + size);
  }
  return true;
}

std::string_view OfferedTexts::heldBack() const {
  const std::string_view all(open_);
  return all.substr(all.size() - std::min(all.size(), heldBack_));
}

bool OfferedTexts::release() {
  heldBack_ = 0;
  return takeTexts();
}

int ForkedAnswer::Process::status() {
  const std::lock_guard lock(mutex_);
  if (status_) return *status_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
  return status;
}

// A template ends when its pipes are closed. To kill it would leave its children to the first
// process of the container, which may be this one.
ForkedAnswer::Process::~Process() {
  if (!status_ && !isTemplate_) ::kill(pid_, SIGKILL);
  (void)status();
}

Result<ForkedAnswer> ForkedAnswer::start(const ForkLimits& limits, ChildWork work) {
  std::vector<ChildWork> works;
  works.push_back(std::move(work));
  auto answers = startAll(limits, 1, works);
  if (!answers) return fail(std::move(answers.error()));
  return std::move(answers->front());
}

Result<std::vector<ForkedAnswer>> ForkedAnswer::startAll(ForkLimits limits, std::size_t atOnce,
                                                         const std::vector<ChildWork>& works) {
  const auto memory = boundedMemory(limits.memory, kCgroupRoot);
  if (!memory)
    return fail(ErrorCode::Unavailable,
                "the memory limit of the scheduler's container leaves too little for a simulation; "
                "raise it");
  limits.memory = *memory;
  std::vector<Fd> readers, writers;
  std::vector<int> pipes;
  for (std::size_t i = 0; i < works.size(); ++i) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail(systemError("pipe"));
    readers.emplace_back(pipe[0]);
    writers.emplace_back(pipe[1]);
    pipes.push_back(pipe[1]);
  }
  const bool several = works.size() > 1;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(systemError("fork"));
  if (pid == 0) {
    if (several) runTemplate(pipes, limits, atOnce, parent, works);
    runChild(pipes.front(), limits, parent, works.front());
  }
  const auto process = std::make_shared<Process>(pid, several);
  // A child of a template may have to wait for its beginning.
  const Duration time = limits.time + limits.grace + (several ? limits.time : Duration::zero());
  std::vector<ForkedAnswer> answers;
  answers.reserve(readers.size());
  for (Fd& reader : readers) answers.push_back(ForkedAnswer(process, std::move(reader), time));
  return answers;
}

ForkedAnswer::~ForkedAnswer() {
  stop();
}

void ForkedAnswer::stop() {
  pipe_.reset();
  process_.reset();
}

int ForkedAnswer::statusOf(OfferedTexts& texts) {
  if (!process_->isTemplate()) return process_->status();
  if (const auto status = statusIn(texts.heldBack())) return *status;
  (void)texts.release();
  return process_->status();
}

// Reads until the child has ended.
Result<> ForkedAnswer::read(const std::atomic<bool>& cancelled, OfferedTexts& texts) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + time_;
  std::array<char, 64 << 10> buffer{};
  for (;;) {
    if (cancelled) return fail(ErrorCode::Cancelled, "the scheduler stops, or the client has gone");
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd waiting{pipe_.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp(left, 0ms, kGlance).count()));
    if ((ready < 0 && errno == EINTR) || (ready == 0 && left > 0ms)) continue;
    if (ready <= 0)
      return fail(ErrorCode::Timeout,
                  fmt::format("the simulation took more than {} s",
                              std::chrono::ceil<std::chrono::seconds>(time_).count()));
    const ssize_t got = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (!texts.append({buffer.data(), static_cast<std::size_t>(got)}))
      return fail(ErrorCode::Internal, "the answer is too large");
  }
  const int status = statusOf(texts);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  // The kernel's signals for the limits of CPU time and memory.
  if ((WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) ||
      (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory))
    return fail(ErrorCode::Timeout, "the simulation used too much CPU time or memory");
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotBegun)
    return fail(ErrorCode::TooManyRequests, "other simulations took too long; ask again");
  return fail(ErrorCode::Internal, "the simulation failed in a plugin");
}

Result<std::string> ForkedAnswer::wait(const std::atomic<bool>& cancelled) {
  OfferedTexts texts(process_->isTemplate() ? kEndBytes : 0);
  auto done = read(cancelled, texts);
  stop();
  if (!done && (done.error().code != ErrorCode::Timeout || !texts.last()))
    return fail(std::move(done.error()));
  if (auto last = texts.last()) return *std::move(last);
  return fail(ErrorCode::Internal, "the simulation ended without an answer");
}

}  // namespace koord::scheduler::oracle
