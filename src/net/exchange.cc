#include "net/exchange.h"

#include <utility>

namespace koord::net {

using Kind = Exchange::Step::Kind;

void Exchange::put(Step step) {
  if (add(std::move(step))) wake();
}

bool Exchange::add(Step step) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (step.kind == Kind::Chunk) waiting_ += step.bytes->size();
  steps_.push_back(std::move(step));
  return !std::exchange(awake_, true);
}

std::vector<Exchange::Step> Exchange::take() {
  std::lock_guard lock(mutex_);
  awake_ = false;
  waiting_ = 0;
  return std::exchange(steps_, {});
}

void Exchange::consumed(std::size_t bytes) {
  const std::int64_t size = static_cast<std::int64_t>(bytes);
  const std::int64_t before = unread_.fetch_sub(size);
  if (before < kMaxUnread || before - size >= kMaxUnread) return;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || std::exchange(awake_, true)) return;
  }
  wake_();
}

void Exchange::close() {
  std::vector<Step> dropped;  // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(steps_);
  waiting_ = 0;
  inConnection_ = 0;
}

ExchangeResponder::~ExchangeResponder() {
  if (state_ == State::Fresh) {
    respond(500, {{"Content-Type", "text/plain; charset=utf-8"}},
            std::string("the request ended without a response\n"));
  }
  abort();
}

void ExchangeResponder::finish(Exchange::Step step) {
  state_ = State::Done;
  exchange_->put(std::move(step));
  // The callbacks may hold the last reference to this object, so they are destroyed last.
  const OnInput reader = std::exchange(onInput_, nullptr);
  const Callback dropped = std::exchange(onClosed_, nullptr);
}

void ExchangeResponder::respond(int status, Headers headers, Bytes body) {
  if (state_ == State::Fresh) finish({Kind::Respond, status, std::move(headers), std::move(body)});
}

void ExchangeResponder::begin(int status, Headers headers) {
  if (state_ != State::Fresh) return;
  state_ = State::Streaming;
  exchange_->put({Kind::Begin, status, std::move(headers), nullptr});
}

void ExchangeResponder::upgrade(Headers headers, OnInput onInput) {
  if (state_ != State::Fresh) return;
  state_ = State::Streaming;
  onInput_ = std::move(onInput);
  exchange_->put({Kind::Upgrade, 101, std::move(headers), nullptr});
}

void ExchangeResponder::input(std::string bytes) {
  if (!onInput_) return;
  // The callback may end the answer, which drops it.
  auto reader = std::move(onInput_);
  onInput_ = nullptr;
  reader(std::move(bytes));
  if (state_ == State::Streaming) onInput_ = std::move(reader);
}

void ExchangeResponder::write(Bytes chunk) {
  // An empty chunk would mean the end of the answer.
  if (state_ != State::Streaming || chunk->empty()) return;
  // A watch gets the events of a commit one by one: they are sent together, after this turn.
  if (exchange_->add({Kind::Chunk, 0, {}, std::move(chunk)}))
    slot_->executor.post([exchange = exchange_] { exchange->wake(); });
}

void ExchangeResponder::end() {
  if (state_ == State::Streaming) finish({Kind::End, 0, {}, nullptr});
}

void ExchangeResponder::abort() {
  if (state_ == State::Fresh || state_ == State::Streaming) finish({Kind::Abort, 0, {}, nullptr});
}

void ExchangeResponder::onClosed(Callback fn) {
  if (state_ == State::Done) return;
  if (state_ != State::Lost) {
    onClosed_ = std::move(fn);
    return;
  }
  slot_->executor.post([slot = slot_, fn = std::move(fn)]() mutable {
    if (slot->active) fn();
  });
}

void ExchangeResponder::lost() {
  if (state_ == State::Done) return;
  state_ = State::Lost;
  const OnInput reader = std::exchange(onInput_, nullptr);
  if (auto fn = std::exchange(onClosed_, nullptr)) fn();
}

}  // namespace koord::net
