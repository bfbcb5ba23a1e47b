// The answer between the executor and the I/O thread.

#include "net/exchange.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"

namespace koord::net {
namespace {

class ExchangeTest : public ::testing::Test {
 protected:
  static Responder::Bytes bytes(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
  }

  VirtualLoop loop;
  int wakes = 0;
  std::shared_ptr<HandlerSlot> slot = std::make_shared<HandlerSlot>(loop, HttpServer::Handler());
  std::shared_ptr<Exchange> exchange = std::make_shared<Exchange>([this] { ++wakes; });
  ExchangeResponder responder{slot, exchange};
};

TEST_F(ExchangeTest, ChunksOfOneTurnWakeTheConnectionOnceAfterIt) {
  responder.begin(200, {});
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(exchange->take().size(), 1u);
  loop.post([this] {
    for (int i = 0; i < 100; ++i) responder.write(bytes("event"));
    EXPECT_EQ(wakes, 1);
  });
  loop.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(exchange->take().size(), 100u);
}

TEST_F(ExchangeTest, AnEndBehindChunksOfTheSameTurnIsTakenWithThem) {
  responder.begin(200, {});
  exchange->take();
  loop.post([this] {
    responder.write(bytes("event"));
    responder.end();
  });
  loop.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(exchange->take().size(), 2u);
}

}  // namespace
}  // namespace koord::net
