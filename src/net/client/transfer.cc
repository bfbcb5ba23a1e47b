#include "net/client/transfer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "net/url.h"

namespace koord::net {
namespace {

// Options whose value is an object of curl's own kind are checked by the compiler; the results are
// not looked at, because with valid options only memory can fail.
template <class T>
void set(CURL* easy, CURLoption option, T value) {
  curl_easy_setopt(easy, option, value);
}

void setFlag(CURL* easy, CURLoption option, bool on) {
  set(easy, option, on ? 1L : 0L);
}

bool isLoopback(std::string_view host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

bool isToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != ':' && c != '"' && c != '(' && c != ')' && c != ',';
  });
}

// "OpenSSL SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0" says it in the
// middle.
std::string_view plainReason(std::string_view text) {
  for (const std::string_view prefix : {"SSL certificate problem: ", "SSL: "}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  if (const auto reason = text.rfind("::");
      text.find("error:") != text.npos && reason != text.npos) {
    text = text.substr(reason + 2);
  }
  return text.substr(0, text.find(", errno "));
}

void append(auto& list, const std::string& line) {
  // The list stays where it is unless it was empty.
  curl_slist* const head = curl_slist_append(list.get(), line.c_str());
  if (!list) list.reset(head);
}

}  // namespace

Transfer& Transfer::of(CURL* easy) {
  void* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return *static_cast<Transfer*>(self);
}

Result<> Transfer::prepare(CURL* easy, const std::string& userAgent) {
  easy_ = easy;
  const auto url = parseUrl(request_.url);
  if (!url) return fail(url.error());
  origin_ = request_.unixSocket.empty() ? url->origin() : "unix:" + request_.unixSocket;
  if (!isToken(request_.method))
    return fail(ErrorCode::BadRequest,
                fmt::format("\"{}\" is not an HTTP method", request_.method));

  const bool http2 = request_.http2 && url->scheme == "https";
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_URL, request_.url.c_str());
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_ERRORBUFFER, errorText_.data());
  set(easy, CURLOPT_HTTP_VERSION,
      static_cast<long>(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // Prefer a stream on the connection that is being opened over another connection. The handshake
  // decides whether that is possible.
  setFlag(easy, CURLOPT_PIPEWAIT, http2);
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  set(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  // Lists and watches are large; the answers to writes are not, and many writes run at once.
  set(easy, CURLOPT_BUFFERSIZE, (request_.method == "GET" ? 128L : 16L) << 10);
  set(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16L << 10);
  set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connectTimeout.count()));
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request_.timeout.count()));
  receivedAt_ = Clock::now();
  if (request_.gzip) set(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  if (!request_.unixSocket.empty()) {
    set(easy, CURLOPT_UNIX_SOCKET_PATH, request_.unixSocket.c_str());
  }
  if (!request_.proxy.empty()) set(easy, CURLOPT_PROXY, request_.proxy.c_str());
  if (!request_.unixSocket.empty() || (request_.proxy.empty() && isLoopback(url->host))) {
    set(easy, CURLOPT_NOPROXY, "*");
  } else if (!request_.proxy.empty()) {
    set(easy, CURLOPT_NOPROXY, "");  // an explicit proxy overrides no_proxy
  }
  if (headerOf(request_.headers, "User-Agent").empty()) {
    set(easy, CURLOPT_USERAGENT, userAgent.c_str());
  }
  set(easy, CURLOPT_PREREQFUNCTION, &Transfer::beforeSending);
  set(easy, CURLOPT_PREREQDATA, this);
  set(easy, CURLOPT_HEADERFUNCTION, &Transfer::headerCallback);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &Transfer::writeCallback);
  set(easy, CURLOPT_WRITEDATA, this);

  if (request_.tls) {
    setTls();
    if (!request_.tls->serverName.empty()) setServerName(request_.tls->serverName, *url);
  }
  setBody();
  return setHeaders();
}

Result<> Transfer::setHeaders() {
  for (const auto& header : request_.headers) {
    if (!isToken(header.name) || header.value.find_first_of("\r\n\0", 0, 3) != std::string::npos) {
      return fail(
          ErrorCode::BadRequest,
          fmt::format("header \"{}\" has a name or value that cannot be sent", header.name));
    }
    append(headers_, header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
  }
  // Removes what libcurl adds by default: a wait before large bodies, and the type of an HTML form.
  append(headers_, "Expect:");
  if (!request_.body.empty() && headerOf(request_.headers, "Content-Type").empty()) {
    append(headers_, "Content-Type:");
  }
  set(easy_, CURLOPT_HTTPHEADER, headers_.get());
  return {};
}

void Transfer::setBody() {
  const auto& method = request_.method;
  if (method == "HEAD") {
    set(easy_, CURLOPT_NOBODY, 1L);
    return;
  }
  // POST, PUT and PATCH have a body even when it is empty, which says Content-Length: 0.
  if (!request_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    set(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(easy_, CURLOPT_POSTFIELDS, request_.body.c_str());
  }
  set(easy_, CURLOPT_CUSTOMREQUEST, method.c_str());
}

void Transfer::setTls() {
  const TlsConfig& tls = *request_.tls;
  // Not copied: the request keeps the texts for as long as the handle uses them.
  const auto setBlob = [this](CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
    set(easy_, option, &blob);
  };
  setBlob(CURLOPT_CAINFO_BLOB, tls.caPem);
  setBlob(CURLOPT_SSLCERT_BLOB, tls.certPem);
  setBlob(CURLOPT_SSLKEY_BLOB, tls.keyPem);
  if (tls.insecureSkipVerify) {
    set(easy_, CURLOPT_SSL_VERIFYPEER, 0L);
    set(easy_, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

// libcurl requests and verifies the name in the URL. So the URL gets the wanted name, and the
// connection is directed to the original host.
void Transfer::setServerName(const std::string& serverName, const Url& url) {
  const auto bracketed = [](const std::string& host) {
    return host.find(':') == host.npos ? host : "[" + host + "]";
  };
  append(connectTo_, fmt::format("::{}:{}", bracketed(url.host), url.port));
  set(easy_, CURLOPT_CONNECT_TO, connectTo_.get());
  set(easy_, CURLOPT_URL,
      fmt::format("{}://{}:{}{}", url.scheme, bracketed(serverName), url.port, url.target).c_str());
  if (headerOf(request_.headers, "Host").empty()) {
    append(headers_, fmt::format("Host: {}:{}", bracketed(url.host), url.port));
  }
}

// libcurl repeats a request by itself when a reused connection is dead. The server may have
// executed the request already, so only requests that change nothing are sent again.
int Transfer::beforeSending(void* self, char*, char*, int, int) {
  Transfer& transfer = *static_cast<Transfer*>(self);
  const std::string& method = transfer.request_.method;
  const bool onlyReads = method == "GET" || method == "HEAD" || method == "OPTIONS";
  if (++transfer.sendings_ == 1 || onlyReads) return CURL_PREREQFUNC_OK;
  transfer.refuseWith({ErrorCode::Unavailable,
                       fmt::format("{} {}: the connection was lost before the response", method,
                                   transfer.request_.url),
                       {}});
  return CURL_PREREQFUNC_ABORT;
}

std::size_t Transfer::headerCallback(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.receivedAt_ = Clock::now();
  transfer.onHeaderLine({data, size * count});
  return size * count;
}

void Transfer::onHeaderLine(std::string_view line) {
  if (headDone_) return;  // trailers
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    head_ = {};
    const auto status = line.substr(std::min(line.find(' '), line.size() - 1) + 1);
    std::from_chars(status.data(), status.data() + status.size(), head_.status);
  } else if (line.empty()) {
    if (head_.status < 200) return;  // 100 Continue: the real answer is still to come
    headDone_ = true;
    onHead(std::move(head_));
  } else if (const auto colon = line.find(':'); colon != line.npos) {
    auto value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    head_.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  }
}

std::size_t Transfer::writeCallback(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.receivedAt_ = Clock::now();
  transfer.paused_ = false;
  switch (transfer.onBody({data, size * count})) {
    case Take::Taken:
      return size * count;
    case Take::Pause:
      transfer.paused_ = true;
      return CURL_WRITEFUNC_PAUSE;
    case Take::Refuse:
      break;
  }
  return CURL_WRITEFUNC_ERROR;
}

std::optional<Transfer::Clock::time_point> Transfer::idleUntil() const {
  if (request_.idleTimeout.count() == 0) return std::nullopt;
  // The reader of a paused transfer is slow, not the server.
  return (paused_ ? Clock::now() : receivedAt_) + request_.idleTimeout;
}

void Transfer::finish(CURLcode code) {
  if (code == CURLE_OK) {
    onDone({});
  } else {
    onDone(fail(errorOf(code)));
  }
}

Error Transfer::connecting(ErrorCode code, std::string_view why) const {
  return Error{code, fmt::format("connect to {}: {}", origin_, why), {}};
}

Error Transfer::requestError(ErrorCode code, std::string_view why) const {
  return Error{code, fmt::format("{} {}: {}", request_.method, request_.url, why), {}};
}

std::string Transfer::osReason(std::string_view otherwise) const {
  long osError = 0;
  curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &osError);
  if (osError == 0) return std::string(otherwise);
  auto text = std::generic_category().message(static_cast<int>(osError));
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

Error Transfer::timedOut() const {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &sent);
  if (sent == 0) {
    return connecting(ErrorCode::Timeout,
                      fmt::format("no connection within {}", request_.connectTimeout));
  }
  return requestError(ErrorCode::Timeout,
                      request_.timeout.count() > 0
                          ? fmt::format("no complete response within {}", request_.timeout)
                          : fmt::format("nothing was received for {}", request_.idleTimeout));
}

Error Transfer::errorOf(CURLcode code) const {
  if (!refusal_.message.empty()) return refusal_;
  const std::string_view given(errorText_.data());
  const std::string_view detail = given.empty() ? curl_easy_strerror(code) : given;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return connecting(ErrorCode::Unavailable, "the host name cannot be resolved");
    case CURLE_COULDNT_RESOLVE_PROXY:
      return connecting(ErrorCode::Unavailable,
                        fmt::format("the name of proxy {} cannot be resolved", request_.proxy));
    case CURLE_COULDNT_CONNECT:
      return connecting(ErrorCode::Unavailable, osReason(detail));
    case CURLE_OPERATION_TIMEDOUT:
      return timedOut();
    case CURLE_PEER_FAILED_VERIFICATION:
      return connecting(
          ErrorCode::Unavailable,
          fmt::format("the server's certificate is not accepted: {}", plainReason(detail)));
    case CURLE_SSL_CACERT_BADFILE:
      return connecting(ErrorCode::Invalid,
                        "the certificate authority data is not a PEM certificate");
    case CURLE_SSL_CERTPROBLEM:
      return connecting(
          ErrorCode::Invalid,
          fmt::format("the client certificate or key cannot be used: {}", plainReason(detail)));
    case CURLE_SSL_CONNECT_ERROR:
      return connecting(ErrorCode::Unavailable,
                        fmt::format("TLS handshake failed: {}", plainReason(detail)));
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return requestError(ErrorCode::BadRequest, detail);
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return requestError(ErrorCode::Unavailable,
                          fmt::format("the connection was lost: {}", plainReason(detail)));
    default:
      return requestError(ErrorCode::Unavailable, plainReason(detail));
  }
}

}  // namespace koord::net
