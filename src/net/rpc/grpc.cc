#include "net/rpc/grpc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace koord::net {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 17> kNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

// Printable ASCII but '%' stays; everything else is %XX.
std::string percentEncode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string percentDecode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The message length in a prefix of kGrpcPrefix bytes.
std::expected<std::size_t, GrpcStatus> announced(std::string_view bytes) {
  if (bytes[0] != 0)
    return std::unexpected(
        GrpcStatus{GrpcCode::Unimplemented,
                   "the message is compressed, but the call announced no compression"});
  std::size_t size = 0;
  for (std::size_t i = 1; i < kGrpcPrefix; ++i)
    size = size << 8 | static_cast<unsigned char>(bytes[i]);
  return size;
}

struct Unit {
  char name;
  Duration length;
};
constexpr Unit kUnits[] = {{'n', 1ns}, {'u', 1us}, {'m', 1ms}, {'S', 1s}, {'M', 1min}, {'H', 1h}};
constexpr std::int64_t kMaxDigits = 99'999'999;

}  // namespace

std::string_view nameOf(GrpcCode code) {
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "Unknown";
}

std::string GrpcStatus::text() const {
  return fmt::format("{}: {}", nameOf(code), message);
}

Error errorOf(const GrpcStatus& status) {
  ErrorCode code = ErrorCode::Internal;
  switch (status.code) {
    case GrpcCode::NotFound:
      code = ErrorCode::NotFound;
      break;
    case GrpcCode::Unavailable:
      code = ErrorCode::Unavailable;
      break;
    case GrpcCode::DeadlineExceeded:
      code = ErrorCode::Timeout;
      break;
    case GrpcCode::Cancelled:
      code = ErrorCode::Cancelled;
      break;
    case GrpcCode::InvalidArgument:
      code = ErrorCode::BadRequest;
      break;
    default:
      break;
  }
  return {code, status.text(), {}};
}

std::string grpcFrame(std::string_view message) {
  std::string frame;
  frame.reserve(kGrpcPrefix + message.size());
  frame += '\0';
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>((message.size() >> shift) & 0xff);
  frame += message;
  return frame;
}

std::expected<std::string_view, GrpcStatus> grpcMessage(std::string_view body) {
  if (body.size() < kGrpcPrefix)
    return std::unexpected(
        GrpcStatus{GrpcCode::InvalidArgument, fmt::format("no message in {} bytes", body.size())});
  const auto size = announced(body);
  if (!size) return std::unexpected(size.error());
  if (*size != body.size() - kGrpcPrefix)
    return std::unexpected(
        GrpcStatus{GrpcCode::InvalidArgument,
                   fmt::format("a message of {} bytes in {}", *size, body.size() - kGrpcPrefix)});
  return body.substr(kGrpcPrefix);
}

std::expected<std::optional<std::string>, GrpcStatus> takeGrpcMessage(std::string& bytes,
                                                                      std::size_t most) {
  if (bytes.size() < kGrpcPrefix) return std::nullopt;
  const auto size = announced(bytes);
  if (!size) return std::unexpected(size.error());
  if (*size > most)
    return std::unexpected(
        GrpcStatus{GrpcCode::ResourceExhausted,
                   fmt::format("a message of {} bytes; the limit is {}", *size, most)});
  if (bytes.size() - kGrpcPrefix < *size) return std::nullopt;
  std::string message = bytes.substr(kGrpcPrefix, *size);
  bytes.erase(0, kGrpcPrefix + *size);
  return message;
}

std::optional<Duration> parseGrpcTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  std::int64_t amount = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, amount);
  if (error != std::errc() || stop != end || amount < 0) return std::nullopt;
  for (const auto& unit : kUnits)
    if (unit.name == text.back())
      // Limited to a year; millions of hours would overflow.
      return std::min<std::int64_t>(amount, Duration(365 * 24h) / unit.length) * unit.length;
  return std::nullopt;
}

std::string formatGrpcTimeout(Duration timeout) {
  timeout = std::max<Duration>(timeout, 1ns);
  for (const auto& unit : kUnits)
    if (const std::int64_t amount = timeout / unit.length; amount <= kMaxDigits)
      return fmt::format("{}{}", amount, unit.name);
  return fmt::format("{}H", kMaxDigits);
}

Http2Headers grpcTrailers(const GrpcStatus& status) {
  Http2Headers headers{{"grpc-status", std::to_string(static_cast<int>(status.code))}};
  if (!status.message.empty()) headers.push_back({"grpc-message", percentEncode(status.message)});
  return headers;
}

Http2Headers grpcFailure(const GrpcStatus& status) {
  Http2Headers headers{{":status", "200"}, {"content-type", "application/grpc"}};
  for (auto& header : grpcTrailers(status)) headers.push_back(std::move(header));
  return headers;
}

GrpcStatus grpcStatusOf(const Http2Headers& trailers) {
  const std::string_view text = headerOf(trailers, "grpc-status");
  int code = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size() || code < 0)
    return {GrpcCode::Unknown, "the response ended without a status"};
  return {static_cast<GrpcCode>(code), percentDecode(headerOf(trailers, "grpc-message"))};
}

}  // namespace koord::net
