#include "net/write_queue.h"

#include <gtest/gtest.h>

namespace koord::net {
namespace {

std::string drain(WriteQueue& queue, std::size_t step) {
  std::string all;
  while (!queue.empty()) {
    const auto part = queue.front().substr(0, step);
    all += part;
    queue.sent(part.size());
  }
  return all;
}

TEST(WriteQueueTest, SmallPiecesAreSentTogetherAndLargeOnesInPlace) {
  WriteQueue queue;
  const auto large = std::make_shared<const std::string>(100'000, 'L');
  queue.add("head");
  queue.add(std::make_shared<const std::string>("body"));
  queue.add(large);
  queue.add("tail");
  EXPECT_EQ(queue.size(), 100'012u);
  EXPECT_EQ(queue.front(), "headbody");
  queue.sent(8);
  EXPECT_EQ(queue.front().data(), large->data());
  queue.sent(99'999);
  EXPECT_EQ(queue.front(), "L");
  queue.sent(1);
  EXPECT_EQ(queue.front(), "tail");
  queue.sent(4);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0u);
}

TEST(WriteQueueTest, WhatIsBeingSentDoesNotChangeOrMove) {
  WriteQueue queue;
  queue.add("first");
  const auto sending = queue.front();
  const auto* const data = sending.data();
  for (int i = 0; i < 1000; ++i) queue.add(std::string(100, 'x'));
  EXPECT_EQ(sending, "first");
  EXPECT_EQ(queue.front().data(), data);
  queue.sent(2);  // nor after a part of it was sent
  queue.add("y");
  EXPECT_EQ(queue.front(), "rst");
}

TEST(WriteQueueTest, EverythingComesOutInOrderWhateverTheSteps) {
  for (const std::size_t step : {1u, 7u, 1000u, 1u << 20}) {
    WriteQueue queue;
    std::string expected;
    for (std::size_t i = 0; i < 40; ++i) {
      const std::string piece(i * i * 17, static_cast<char>('a' + i % 26));
      expected += piece;
      if (i % 2 == 0) {
        queue.add(std::string_view(piece));
      } else {
        queue.add(std::make_shared<const std::string>(piece));
      }
    }
    EXPECT_EQ(queue.size(), expected.size());
    EXPECT_TRUE(drain(queue, step) == expected) << step;
  }
}

TEST(WriteQueueTest, EmptyPiecesAddNothing) {
  WriteQueue queue;
  queue.add("");
  queue.add(std::make_shared<const std::string>());
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace koord::net
