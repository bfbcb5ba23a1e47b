#include "net/rpc/http2_session.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace koord::net {
namespace {

// Receive windows in bytes: of a stream, and of the connection.
constexpr std::int32_t kStreamWindow = 1 << 20;
constexpr std::int32_t kConnectionWindow = 16 << 20;
constexpr std::uint32_t kMaxStreams = 100'000;
constexpr std::size_t kMaxHeaderBlock = 1 << 20;
constexpr std::size_t kReadBuffer = 64 << 10;
constexpr std::size_t kSendBatch = 256 << 10;
constexpr std::uint32_t kFrameSize = 1 << 20;

std::vector<nghttp2_nv> namesAndValues(const Http2Headers& headers) {
  std::vector<nghttp2_nv> list;
  list.reserve(headers.size());
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  for (const auto& header : headers)
    list.push_back({bytes(header.name), bytes(header.value), header.name.size(),
                    header.value.size(), NGHTTP2_NV_FLAG_NONE});
  return list;
}

}  // namespace

std::string_view headerOf(const Http2Headers& headers, std::string_view name) {
  for (const auto& header : headers)
    if (header.name == name) return header.value;
  return {};
}

// nghttp2's callbacks, which receive the session's pointer.
struct Http2Session::Callbacks {
  static Http2Session& of(void* user) { return *static_cast<Http2Session*>(user); }

  static int beginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    of(user).arriving_[frame->hd.stream_id].clear();
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t nameSize, const std::uint8_t* value, std::size_t valueSize,
                    std::uint8_t, void* user) {
    of(user).arriving_[frame->hd.stream_id].push_back(
        {std::string(reinterpret_cast<const char*>(name), nameSize),
         std::string(reinterpret_cast<const char*>(value), valueSize)});
    return 0;
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Session& self = of(user);
    const std::int32_t stream = frame->hd.stream_id;
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS) {
      auto node = self.arriving_.extract(stream);
      if (!node.empty() && self.user_)
        self.user_->onHeaders(stream, std::move(node.mapped()), last);
    } else if (frame->hd.type == NGHTTP2_DATA && last) {
      if (self.user_) self.user_->onEnd(stream);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.goingAway_ = true;
    }
    return 0;
  }

  static int data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    Http2Session& self = of(user);
    if (self.user_)
      self.user_->onData(stream, {reinterpret_cast<const char*>(bytes), size});
    else
      nghttp2_session_consume(self.session_, stream, size);
    return 0;
  }

  static int closed(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* user) {
    Http2Session& self = of(user);
    self.out_.erase(stream);
    self.arriving_.erase(stream);
    if (self.user_) self.user_->onClosed(stream, code);
    return 0;
  }

  static ssize_t produce(nghttp2_session*, std::int32_t stream, std::uint8_t*, std::size_t length,
                         std::uint32_t* flags, nghttp2_data_source*, void* user) {
    return of(user).produce(stream, length, *flags);
  }

  static int sendData(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* header,
                      std::size_t length, nghttp2_data_source*, void* user) {
    constexpr std::size_t kFrameHeader = 9;
    return of(user).frameData(frame->hd.stream_id,
                              {reinterpret_cast<const char*>(header), kFrameHeader}, length);
  }

  // Frames as large as the other side takes; nghttp2 by itself stays at 16 KiB.
  static ssize_t frameLength(nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t session,
                             std::int32_t stream, std::uint32_t most, void*) {
    return std::min<std::int64_t>({session, stream, most});
  }
};

Http2Session::Http2Session(IoLoop& loop, Fd socket, Http2User& user)
    : loop_(loop), socket_(std::move(socket)), user_(&user) {}

Http2Session::~Http2Session() {
  close();
}

std::shared_ptr<Http2Session> Http2Session::start(IoLoop& loop, Fd socket, Role role,
                                                  Http2User& user) {
  auto session = std::shared_ptr<Http2Session>(new Http2Session(loop, std::move(socket), user));
  session->begin(role);
  return session;
}

void Http2Session::begin(Role role) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &Callbacks::beginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::closed);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, &Callbacks::sendData);
  nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks,
                                                                 &Callbacks::frameLength);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_peer_max_concurrent_streams(option, kMaxStreams);
  nghttp2_option_set_max_send_header_block_length(option, kMaxHeaderBlock);
  // Ended streams are not kept for the priority tree, which is not used.
  nghttp2_option_set_no_closed_streams(option, 1);
  if (role == Role::Server)
    nghttp2_session_server_new2(&session_, callbacks, this, option);
  else
    nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const std::array settings{
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrameSize},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(),
                          role == Role::Client ? settings.size() : settings.size() - 1);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  watch_ = loop_.watch(socket_.get(), [weak = weak_from_this()](IoLoop::Ready ready) {
    if (const auto self = weak.lock()) self->onReady(ready);
  });
  watch_->want({.read = true});
  flushSoon();
}

void Http2Session::close() {
  watch_.reset();
  if (session_ && !inside_) nghttp2_session_del(std::exchange(session_, nullptr));
  socket_ = Fd();
  out_.clear();
  arriving_.clear();
  goingAway_ = true;
  user_ = nullptr;
}

void Http2Session::lose(const std::string& why) {
  Http2User* const user = user_;
  close();
  if (user) user->onLost(why);
}

void Http2Session::onReady(IoLoop::Ready ready) {
  if (ready.write && socket_) {
    watch_->want({.read = true});
    flush();
  }
  if (ready.read && socket_) read();
}

void Http2Session::read() {
  const auto keep = shared_from_this();
  std::array<std::uint8_t, kReadBuffer> buffer;
  while (socket_) {
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0)
      return lose(size == 0 ? "the peer closed the connection"
                            : errnoError("read from the socket", errno).message);
    inside_ = true;
    const auto taken =
        nghttp2_session_mem_recv(session_, buffer.data(), static_cast<std::size_t>(size));
    inside_ = false;
    if (!socket_) return close();  // the user has closed the session
    if (taken < 0)
      return lose(fmt::format("the peer does not use HTTP/2: {}",
                              nghttp2_strerror(static_cast<int>(taken))));
    flushSoon();
    if (static_cast<std::size_t>(size) < buffer.size()) return;
  }
}

// Sends all frames of one turn of the loop with one write.
void Http2Session::flushSoon() {
  if (flushing_ || !socket_) return;
  flushing_ = true;
  loop_.post([self = shared_from_this()] {
    self->flushing_ = false;
    if (self->socket_) self->flush();
  });
}

void Http2Session::flush() {
  const auto keep = shared_from_this();
  while (socket_) {
    while (unsent_.size() < kSendBatch) {
      const std::uint8_t* bytes = nullptr;
      const std::size_t before = unsent_.size();
      inside_ = true;
      const auto size = nghttp2_session_mem_send(session_, &bytes);
      inside_ = false;
      if (!socket_) return close();
      if (size < 0) return lose(nghttp2_strerror(static_cast<int>(size)));
      unsent_.add(
          std::string_view(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)));
      if (unsent_.size() == before) break;
    }
    if (unsent_.empty()) break;
    if (!send()) return;
  }
  if (socket_ && !nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_))
    lose("the connection has ended");
}

// Returns false if the kernel takes no more for now or the connection is lost.
bool Http2Session::send() {
  const auto sent = unsent_.sendTo(socket_.get());
  if (!sent)
    lose(sent.error().message);
  else if (!*sent)
    watch_->want({.read = true, .write = true});
  return sent && *sent;
}

std::int32_t Http2Session::open(const Http2Headers& headers, bool last) {
  if (!acceptsStreams()) return -1;
  const auto list = namesAndValues(headers);
  const nghttp2_data_provider provider{{}, &Callbacks::produce};
  const std::int32_t stream = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                                     last ? nullptr : &provider, nullptr);
  if (stream < 0) return -1;
  out_[stream].last = last;
  flushSoon();
  return stream;
}

Http2Session::Outgoing* Http2Session::outgoing(std::int32_t stream) {
  if (!session_) return nullptr;
  const auto found = out_.find(stream);
  return found == out_.end() ? nullptr : &found->second;
}

void Http2Session::headers(std::int32_t stream, const Http2Headers& headers, bool last) {
  if (!session_) return;
  const auto list = namesAndValues(headers);
  const nghttp2_data_provider provider{{}, &Callbacks::produce};
  if (nghttp2_submit_response(session_, stream, list.data(), list.size(),
                              last ? nullptr : &provider) == 0)
    out_[stream].last = last;
  flushSoon();
}

void Http2Session::wake(std::int32_t stream, Outgoing& out) {
  if (std::exchange(out.waiting, false)) nghttp2_session_resume_data(session_, stream);
  flushSoon();
}

void Http2Session::data(std::int32_t stream, std::string bytes, bool last) {
  Outgoing* const out = outgoing(stream);
  if (!out) return;
  out->size += bytes.size();
  if (!bytes.empty()) out->chunks.push_back(std::move(bytes));
  out->last = out->last || last;
  wake(stream, *out);
}

void Http2Session::trailers(std::int32_t stream, Http2Headers headers) {
  Outgoing* const out = outgoing(stream);
  if (!out) return;
  out->hasTrailers = true;
  out->trailers = std::move(headers);
  wake(stream, *out);
}

// Returns the size of a stream's next frame; frameData() takes its bytes.
long Http2Session::produce(std::int32_t stream, std::size_t length, std::uint32_t& flags) {
  Outgoing* const out = outgoing(stream);
  if (!out) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t size = std::min(length, out->size);
  const bool all = size == out->size;
  if (size == 0 && !out->last && !out->hasTrailers) {
    out->waiting = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (all && out->hasTrailers) {
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const auto list = namesAndValues(out->trailers);
    nghttp2_submit_trailer(session_, stream, list.data(), list.size());
  } else if (all && out->last) {
    flags |= NGHTTP2_DATA_FLAG_EOF;
  }
  return static_cast<long>(size);
}

int Http2Session::frameData(std::int32_t stream, std::string_view header, std::size_t length) {
  // nghttp2 calls this again with the same frame when the socket has taken some bytes.
  if (unsent_.size() >= kSendBatch) return NGHTTP2_ERR_WOULDBLOCK;
  Outgoing* const out = outgoing(stream);
  if (!out) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  unsent_.add(header);
  for (std::size_t left = length; left > 0;) {
    std::string& chunk = out->chunks.front();
    const std::size_t part = std::min(left, chunk.size() - out->offset);
    if (part == chunk.size())
      unsent_.add(std::move(chunk));
    else
      unsent_.add(std::string_view(chunk).substr(out->offset, part));
    left -= part;
    out->offset += part;
    if (left == 0 && out->offset < chunk.size()) break;
    out->chunks.pop_front();
    out->offset = 0;
  }
  out->size -= length;
  if (length > 0 && user_) user_->onSent(stream, length);
  return 0;
}

void Http2Session::reset(std::int32_t stream, std::uint32_t code) {
  if (!session_) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
  flushSoon();
}

void Http2Session::consume(std::int32_t stream, std::size_t bytes) {
  if (!session_) return;
  // nghttp2 does not know ended streams; the connection's window is returned in any case.
  nghttp2_session_consume(session_, stream, bytes);
  flushSoon();
}

void Http2Session::sendGoAway() {
  if (!session_ || goingAway_) return;
  goingAway_ = true;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), 0, nullptr, 0);
  flushSoon();
}

}  // namespace koord::net
