#pragma once

// The items of a recording: a stream of bytes in which every item has a kind, a number and, for
// most kinds, bytes. Some items begin a turn: the scheduler's thread was given an input. The others
// follow the turn that they belong to: a reading of the clock, or what the scheduler asked for and
// decided. README.md describes the stream.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api.h"

namespace koord::scheduler::recording {

enum class Item : std::uint8_t {
  // --- Within a turn, without bytes.
  Steady = 1,    // nanoseconds since the previous reading of the steady clock, zigzag
  Wall = 2,      // change of the distance between wall clock and steady clock, zigzag
  Protobuf = 3,  // 1: the API takes protobuf
  // --- Within a turn, with bytes.
  Call = 16,     // number of the call; encodeRequest
  Watch = 17,    // number of the watch; encodeRequest
  Unwatch = 18,  // number of the watch
  Fetch = 19,    // number of the call; method, URL and body of a request to an extender
  Decision = 20,
  // --- Begin a turn.
  Begin = 32,    // the scheduler is made
  Posted = 33,   // the oldest callback that waits
  Timer = 34,    // number of the timer
  Reply = 35,    // number of the call; encodeResult
  Event = 36,    // number of the watch; the event as received
  Closed = 37,   // number of the watch; encodeError
  Fetched = 38,  // number of the call; encodeResult of the status and the body
  Start = 39,    // the informers start
  Lead = 40,     // this process leads
  Stop = 41,
  Http = 42,  // a request to the scheduler's endpoints; method, target and body
  // --- Ends the recording; the bytes say why.
  End = 63,
};

constexpr bool hasBytes(Item item) {
  return item >= Item::Call;
}
constexpr bool beginsTurn(Item item) {
  return item >= Item::Begin && item < Item::End;
}
// The most bytes of an item. Answers and events: what clients accept (net::HttpRequest,
// kube/http_watch.cc), and a head. Longer items end a recording.
constexpr std::size_t maxBytesOf(Item item) {
  switch (item) {
    case Item::Fetch:
    case Item::Fetched:
    case Item::Reply:
      return (1ULL << 30) + (64 << 10);
    case Item::Event:
      return 64 << 20;
    default:
      return 16 << 20;
  }
}
bool isKnown(std::uint8_t item);
std::string_view nameOf(Item item);

struct Record {
  Item item = Item::End;
  std::uint64_t number = 0;
  std::string_view bytes;
};

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Base 128, lowest bits first, as in protobuf.
void putNumber(std::string& to, std::uint64_t number);
// The length, then the text.
void putText(std::string& to, std::string_view text);

// Takes the parts off the front of `from`; nullopt if it is too short or malformed.
std::optional<std::uint64_t> takeNumber(std::string_view& from);
std::optional<std::string_view> takeText(std::string_view& from);
// All texts; nullopt if there is anything else.
std::optional<std::vector<std::string_view>> textsIn(std::string_view from);

// Bodies of Events are left out: they repeat decisions, are half of all writes, and name the host.
std::string encodeRequest(const kube::Request& request);
// "create pods/binding default/web-1"; for messages.
std::string describeRequest(std::string_view encoded);

// The head of an answer. The body of a good answer follows it.
std::string encodeError(const Error* error);
std::optional<Result<std::string>> decodeResult(std::string_view encoded);

struct DecisionText {
  std::string pod;  // NAMESPACE/NAME
  int attempt = 0;
  std::string result;   // as in DecisionLog
  std::string node;     // selected or nominated
  std::string message;  // "" if it was scheduled
};
std::string encodeDecision(const DecisionText& decision);
std::optional<DecisionText> decodeDecision(std::string_view encoded);
// "default/web-1, attempt 1: scheduled on n1"
std::string toString(const DecisionText& decision);

// One line for a message about a difference.
std::string describe(const Record& record);

}  // namespace koord::scheduler::recording
