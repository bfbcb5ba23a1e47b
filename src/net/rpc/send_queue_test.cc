#include "net/rpc/send_queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "net/rpc/unix_socket.h"

namespace koord::net {
namespace {

class SendQueueTest : public testing::Test {
 protected:
  SendQueueTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    here_ = Fd(ends[0]);
    there_ = Fd(ends[1]);
  }
  // Reads what has arrived at the other end, at most so many bytes.
  std::string received(std::size_t most) {
    std::string bytes(most, 0);
    const ssize_t size = ::recv(there_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
  }

  Fd here_, there_;
  SendQueue queue_;
};

TEST_F(SendQueueTest, SmallAndLargeTextsLeaveInTheirOrder) {
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    std::string text(static_cast<std::size_t>(i % 5 == 0 ? 5000 : 7 * i % 97),
                     static_cast<char>('a' + i % 26));
    expected += text;
    if (i % 2 == 0)
      queue_.add(std::string_view(text));
    else
      queue_.add(std::move(text));
  }
  EXPECT_EQ(queue_.size(), expected.size());
  std::string all;
  while (!queue_.empty()) {
    ASSERT_TRUE(queue_.sendTo(here_.get()));
    all += received(expected.size());
  }
  EXPECT_EQ(all + received(expected.size()), expected);
}

TEST_F(SendQueueTest, WhatASocketDoesNotTakeStaysToTheLastByte) {
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    std::string text(10'007, static_cast<char>(i));
    expected += text;
    queue_.add(std::move(text));
  }
  std::string all;
  ASSERT_FALSE(queue_.sendTo(here_.get()).value());
  while (all.size() < expected.size()) {
    const std::string some = received(1009);
    ASSERT_FALSE(some.empty());
    all += some;
    ASSERT_TRUE(queue_.sendTo(here_.get()));
  }
  EXPECT_TRUE(all == expected);
  EXPECT_TRUE(queue_.sendTo(here_.get()).value());
}

TEST_F(SendQueueTest, ASocketWithoutAReaderIsAnError) {
  there_ = Fd();
  queue_.add(std::string_view("x"));
  EXPECT_FALSE(queue_.sendTo(here_.get()));
}

}  // namespace
}  // namespace koord::net
