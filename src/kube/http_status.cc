#include "kube/http_status.h"

#include <fmt/format.h>

#include <charconv>

#include "base/utf8.h"
#include "kube/received.h"

namespace koord::kube {
namespace {

constexpr std::size_t kMaxShownBody = 300;

std::string trimTrailingBlanks(std::string_view body) {
  const auto last = body.find_last_not_of("\n ");
  return shortened(body.substr(0, last == std::string_view::npos ? 0 : last + 1), kMaxShownBody);
}

}  // namespace

std::chrono::seconds retryAfterOf(const net::HttpResponse& response) {
  const auto text = net::headerOf(response.headers, "Retry-After");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = error == std::errc() && end == text.data() + text.size() && seconds > 0;
  return std::chrono::seconds(number ? seconds : 0);
}

Error errorOf(const net::HttpResponse& response, const std::string& requestText) {
  Error error{codeOfHttpStatus(response.status), {}, retryAfterOf(response)};
  const auto status = statusIn(response.body);
  if (!status) {
    error.message = fmt::format("{}: HTTP status {}: {}", requestText, response.status,
                                response.body.empty() || api::isProtobufBody(response.body)
                                    ? "no explanation"
                                    : trimTrailingBlanks(response.body));
    return error;
  }
  error.code = codeOfReason(status->reason, response.status);
  error.message = status->message;
  if (error.message.empty()) {
    error.message = fmt::format("{}: HTTP status {}", requestText, response.status);
  }
  if (status->details && error.retryAfter.count() == 0)
    error.retryAfter = std::chrono::seconds(status->details->retryAfterSeconds);
  return error;
}

}  // namespace koord::kube
