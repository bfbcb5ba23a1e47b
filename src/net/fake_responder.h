#pragma once

// A Responder for tests of handlers: records the answer.

#include "net/http_server.h"

namespace koord::net {

class FakeResponder final : public Responder {
 public:
  int status = 0;
  Headers headers;
  std::string body;  // of a streamed answer: all chunks
  bool ended = false;
  bool aborted = false;
  Callback closed;  // run by the test to lose the connection
  OnInput input;    // after an upgrade: called by the test with the client's bytes
  std::size_t taken = 0;
  std::size_t queued = 0;  // set by the test: the client does not read

  using Responder::respond;
  void respond(int s, Headers h, Bytes b) override {
    begin(s, std::move(h));
    body = *b;
    ended = true;
  }
  void begin(int s, Headers h) override {
    status = s;
    headers = std::move(h);
  }
  void write(Bytes chunk) override { body += *chunk; }
  void end() override { ended = true; }
  void upgrade(Headers h, OnInput onInput) override {
    begin(101, std::move(h));
    input = std::move(onInput);
  }
  void consumed(std::size_t bytes) override { taken += bytes; }
  std::size_t queuedBytes() const override { return queued; }
  void abort() override { aborted = true; }
  void onClosed(Callback fn) override { closed = std::move(fn); }
};

}  // namespace koord::net
