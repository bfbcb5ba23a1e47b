#include "scheduler/recording/items.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

namespace koord::scheduler::recording {

namespace {

constexpr std::string_view kVerbs[] = {"get",    "list",  "watch",  "create",
                                       "update", "patch", "delete", "delete all of"};
constexpr std::size_t kShownMessage = 300;
// A Status has a number of 32 bits.
constexpr std::chrono::seconds kMaxRetryAfter{std::numeric_limits<std::int32_t>::max()};

}  // namespace

std::string_view nameOf(Item item) {
  switch (item) {
    case Item::Steady:
      return "a reading of the steady clock";
    case Item::Wall:
      return "a reading of the wall clock";
    case Item::Protobuf:
      return "whether the API takes protobuf";
    case Item::Call:
      return "a request";
    case Item::Watch:
      return "a watch";
    case Item::Unwatch:
      return "the end of a watch";
    case Item::Fetch:
      return "a request to an extender";
    case Item::Decision:
      return "a decision";
    case Item::Begin:
      return "the start";
    case Item::Posted:
      return "a callback";
    case Item::Timer:
      return "a timer";
    case Item::Reply:
      return "an answer";
    case Item::Event:
      return "an event of a watch";
    case Item::Closed:
      return "the end of a watch by the server";
    case Item::Fetched:
      return "an answer of an extender";
    case Item::Start:
      return "the start of the informers";
    case Item::Lead:
      return "the start of scheduling";
    case Item::Stop:
      return "the stop";
    case Item::Http:
      return "a request of a client";
    case Item::End:
      return "the end";
  }
  return "";
}

bool isKnown(std::uint8_t item) {
  return !nameOf(static_cast<Item>(item)).empty();
}

void putNumber(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>(number | 0x80));
  to.push_back(static_cast<char>(number));
}

void putText(std::string& to, std::string_view text) {
  putNumber(to, text.size());
  to.append(text);
}

std::optional<std::uint64_t> takeNumber(std::string_view& from) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    if (i == 9 && byte > 1) return std::nullopt;  // beyond 64 bits
    number |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    from.remove_prefix(i + 1);
    return number;
  }
  return std::nullopt;
}

std::optional<std::string_view> takeText(std::string_view& from) {
  std::string_view rest = from;
  const auto length = takeNumber(rest);
  if (!length || *length > rest.size()) return std::nullopt;
  const std::string_view text = rest.substr(0, *length);
  from = rest.substr(*length);
  return text;
}

std::optional<std::vector<std::string_view>> textsIn(std::string_view from) {
  std::vector<std::string_view> texts;
  while (!from.empty()) {
    const auto text = takeText(from);
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return texts;
}

std::string encodeRequest(const kube::Request& request) {
  std::string out;
  putText(out, kVerbs[static_cast<std::size_t>(request.verb)]);
  for (const std::string* part : {&request.group, &request.version, &request.resource,
                                  &request.subresource, &request.namespace_, &request.name})
    putText(out, *part);
  putText(out, request.resource == "events" ? std::string_view() : request.body);
  putText(out, request.verb == kube::Verb::Patch ? kube::contentTypeOf(request.patchType) : "");
  putText(out, request.protobuf ? "protobuf" : "");
  for (const auto& [key, value] : request.query) {
    putText(out, key);
    putText(out, value);
  }
  return out;
}

std::string describeRequest(std::string_view encoded) {
  const auto texts = textsIn(encoded);
  if (!texts || texts->size() < 7) return "a malformed request";
  const auto& t = *texts;
  return fmt::format("{} {}{}{} {}{}{}", t[0], t[3], t[4].empty() ? "" : "/", t[4], t[5],
                     t[5].empty() ? "" : "/", t[6]);
}

std::string encodeError(const Error* error) {
  std::string out;
  putNumber(out, error ? 1 + static_cast<std::uint64_t>(error->code) : 0);
  if (!error) return out;
  putNumber(out, zigzag(error->retryAfter.count()));
  out.append(error->message);
  return out;
}

std::optional<Result<std::string>> decodeResult(std::string_view encoded) {
  const auto code = takeNumber(encoded);
  if (!code || *code > 1 + static_cast<std::uint64_t>(ErrorCode::Io)) return std::nullopt;
  if (*code == 0) return Result<std::string>(encoded);
  const auto number = takeNumber(encoded);
  if (!number) return std::nullopt;
  const std::chrono::milliseconds retryAfter(unzigzag(*number));
  if (retryAfter > kMaxRetryAfter || retryAfter < -kMaxRetryAfter) return std::nullopt;
  return Result<std::string>(
      koord::fail(Error{static_cast<ErrorCode>(*code - 1), std::string(encoded), retryAfter}));
}

std::string encodeDecision(const DecisionText& decision) {
  std::string out;
  putText(out, decision.pod);
  putText(out, std::to_string(decision.attempt));
  putText(out, decision.result);
  putText(out, decision.node);
  putText(out, decision.message);
  return out;
}

std::optional<DecisionText> decodeDecision(std::string_view encoded) {
  const auto texts = textsIn(encoded);
  if (!texts || texts->size() != 5) return std::nullopt;
  const auto& t = *texts;
  int attempt = 0;
  for (const char c : t[1].substr(0, 9)) {
    if (c < '0' || c > '9') return std::nullopt;
    attempt = attempt * 10 + (c - '0');
  }
  return DecisionText{std::string(t[0]), attempt, std::string(t[2]), std::string(t[3]),
                      std::string(t[4])};
}

std::string toString(const DecisionText& decision) {
  std::string text =
      fmt::format("{}, attempt {}: {}", decision.pod, decision.attempt, decision.result);
  if (!decision.node.empty())
    text += fmt::format("{}{}", decision.result == "scheduled" ? " on " : ", nominated for ",
                        decision.node);
  if (!decision.message.empty()) text += ": " + decision.message.substr(0, kShownMessage);
  return text;
}

std::string describe(const Record& record) {
  switch (record.item) {
    case Item::Call:
    case Item::Watch:
      return fmt::format("{} {}: {}", nameOf(record.item), record.number,
                         describeRequest(record.bytes));
    case Item::Decision:
      if (const auto decision = decodeDecision(record.bytes))
        return "a decision: " + toString(*decision);
      return "a malformed decision";
    case Item::Fetch: {
      const auto texts = textsIn(record.bytes);
      return fmt::format("{}: {}", nameOf(record.item),
                         texts && texts->size() == 3 ? (*texts)[1] : "malformed");
    }
    default:
      return hasBytes(record.item) ? fmt::format("{} {}", nameOf(record.item), record.number)
                                   : std::string(nameOf(record.item));
  }
}

}  // namespace koord::scheduler::recording
