#pragma once

// The parts that gRPC adds to HTTP/2: a prefix of five bytes before each message, a status at the
// end, deadlines.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"
#include "net/rpc/http2_session.h"

namespace koord::net {

enum class GrpcCode : int {
  Ok = 0,
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  PermissionDenied = 7,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
  Unauthenticated = 16,
};
std::string_view nameOf(GrpcCode code);  // "DeadlineExceeded"

struct GrpcStatus {
  GrpcCode code = GrpcCode::Ok;
  std::string message;
  bool ok() const { return code == GrpcCode::Ok; }
  // "Unavailable: connect to /run/x.sock: No such file or directory"
  std::string text() const;
};

// The other side's answer: a message, or why there is none.
using GrpcReply = std::expected<std::string, GrpcStatus>;
// As an Error with the nearest code.
Error errorOf(const GrpcStatus& status);

inline constexpr std::size_t kGrpcPrefix = 5;
std::string grpcFrame(std::string_view message);
// The message of a body with exactly one message. InvalidArgument if it has not exactly one;
// Unimplemented if it is compressed.
std::expected<std::string_view, GrpcStatus> grpcMessage(std::string_view body);
// Removes the first message from `bytes`, to which more may be added; nullopt while it is
// incomplete. Errors as above, and ResourceExhausted if the message has more than `most` bytes.
std::expected<std::optional<std::string>, GrpcStatus> takeGrpcMessage(std::string& bytes,
                                                                      std::size_t most);

// grpc-timeout: at most eight digits and a unit; nullopt if it is empty or invalid.
std::optional<Duration> parseGrpcTimeout(std::string_view text);
std::string formatGrpcTimeout(Duration timeout);

// The trailers of an answer with this status.
Http2Headers grpcTrailers(const GrpcStatus& status);
// The headers of an answer that has a status only.
Http2Headers grpcFailure(const GrpcStatus& status);
// The status in the trailers; Unknown if they have none.
GrpcStatus grpcStatusOf(const Http2Headers& trailers);

}  // namespace koord::net
