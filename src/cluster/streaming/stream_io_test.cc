#include "cluster/streaming/stream_io.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>

#include "base/event_loop.h"

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds processorTime() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Task<void> readToTheEnd(EventLoop* loop, FdStream* stream, std::chrono::nanoseconds* used) {
  for (;;) {
    auto reading = stream->read();
    const auto bytes = co_await reading;
    if (!bytes) break;
  }
  const auto before = processorTime();
  auto pause = sleepFor(*loop, 100ms);
  co_await pause;
  *used = processorTime() - before;
  loop->stop();
}

TEST(StreamIo, AStreamThatHasEndedTakesNoProcessorTime) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ASSERT_EQ(::write(pipe[1], "last", 4), 4);
  ::close(pipe[1]);
  EventLoop loop;
  StreamIo io(loop);
  const auto stream = io.open(Fd(pipe[0]));
  std::chrono::nanoseconds used{};
  TaskGroup tasks;
  tasks.spawn(readToTheEnd(&loop, stream.get(), &used));
  loop.run();
  EXPECT_LT(used, 50ms);
}

}  // namespace
}  // namespace koord::cluster
