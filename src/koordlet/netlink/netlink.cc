#include "koordlet/netlink/netlink.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <limits>

// The kernel handles a request within the call that sends it, and queues its answers on the socket.
// A request that fails may leave unread answers in the queue; sequence numbers identify them.
//
// Each message of a transaction requests an acknowledgement. The kernel answers each message with
// an acknowledgement or an error, or the whole transaction (out of memory) with one error that has
// the sequence number of its first message.

namespace koord::koordlet::netlink {
namespace {

constexpr std::size_t kMaxOfAttribute = std::numeric_limits<std::uint16_t>::max();
constexpr std::size_t kMaxOfAnswer = 32 * 1024;  // as much as the kernel writes at once
constexpr timeval kPatience{2, 0};
constexpr int kDumpAttempts = 10;

// The error in a message of type NLMSG_ERROR; nullopt for an acknowledgement.
std::optional<Error> errorIn(const nlmsghdr* message) {
  const std::string_view payload(static_cast<const char*>(mnl_nlmsg_get_payload(message)),
                                 mnl_nlmsg_get_payload_len(message));
  const auto error = readAs<nlmsgerr>(payload);
  if (!error) return Error{ErrorCode::Io, "the kernel's reply is too short", {}};
  if (error->error == 0) return std::nullopt;
  const int number = -error->error;
  std::string said = std::strerror(number);
  // NETLINK_CAP_ACK: the kernel repeats only the header of the request; attributes follow.
  if (const auto text = message->nlmsg_flags & NLM_F_ACK_TLVS
                            ? attributeIn(payload, sizeof(nlmsgerr), NLMSGERR_ATTR_MSG)
                            : std::nullopt)
    said += fmt::format(": {}", text->substr(0, text->find('\0')));
  ErrorCode code = ErrorCode::Io;
  if (number == ENOENT || number == ENODEV) code = ErrorCode::NotFound;
  if (number == EEXIST || number == EBUSY) code = ErrorCode::Conflict;
  return Error{code, std::move(said), {}};
}

// The error in the message that ends a dump; nullopt if the dump is complete.
std::optional<Error> errorOfDump(const nlmsghdr* done) {
  const std::string_view payload(static_cast<const char*>(mnl_nlmsg_get_payload(done)),
                                 mnl_nlmsg_get_payload_len(done));
  const auto error = readAs<int>(payload);
  if (!error || *error >= 0) return std::nullopt;
  return errnoError("list objects", -*error);
}

// Begins (NFNL_MSG_BATCH_BEGIN) or ends a transaction of nf_tables.
Message boundary(std::uint16_t type) {
  nfgenmsg header{};
  header.version = NFNETLINK_V0;
  header.res_id = htons(NFNL_SUBSYS_NFTABLES);
  return {type, 0, header};
}

}  // namespace

Message::Message(std::uint16_t type, std::uint16_t flags, std::string_view header)
    : bytes_(MNL_NLMSG_HDRLEN + MNL_ALIGN(header.size())) {
  nlmsghdr* const start = mnl_nlmsg_put_header(bytes_.data());
  start->nlmsg_type = type;
  start->nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
  std::memcpy(mnl_nlmsg_put_extra_header(start, header.size()), header.data(), header.size());
}

std::size_t Message::begin(std::uint16_t attribute) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + MNL_ATTR_HDRLEN);
  mnl_attr_nest_start(header(), attribute);
  return at;
}

void Message::end(std::size_t at) {
  mnl_attr_nest_end(header(), reinterpret_cast<nlattr*>(bytes_.data() + at));
  fits_ = fits_ && bytes_.size() - at <= kMaxOfAttribute;
}

void Message::add(std::uint16_t attribute, std::string_view bytes) {
  const std::size_t size = MNL_ATTR_HDRLEN + MNL_ALIGN(bytes.size());
  bytes_.resize(bytes_.size() + size);
  mnl_attr_put(header(), attribute, bytes.size(), bytes.data());
  fits_ = fits_ && size <= kMaxOfAttribute;
}

void Message::addText(std::uint16_t attribute, const std::string& text) {
  add(attribute, {text.c_str(), text.size() + 1});
}

std::optional<std::string_view> attributeIn(std::string_view payload, std::size_t skip,
                                            std::uint16_t attribute) {
  skip = MNL_ALIGN(skip);
  if (payload.size() < skip) return std::nullopt;
  const char* const end = payload.data() + payload.size();
  const auto* at = reinterpret_cast<const nlattr*>(payload.data() + skip);
  while (mnl_attr_ok(at, static_cast<int>(end - reinterpret_cast<const char*>(at)))) {
    if (mnl_attr_get_type(at) == attribute)
      return std::string_view(static_cast<const char*>(mnl_attr_get_payload(at)),
                              mnl_attr_get_payload_len(at));
    at = mnl_attr_next(at);
  }
  return std::nullopt;
}

void Socket::Close::operator()(mnl_socket* socket) const {
  mnl_socket_close(socket);
}

Result<Socket> Socket::open(int protocol) {
  Socket opened(mnl_socket_open2(protocol, SOCK_CLOEXEC));
  if (!opened.socket_) return fail(errnoError("open a netlink socket", errno));
  mnl_socket* const socket = opened.socket_.get();
  if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0)
    return fail(errnoError("bind a netlink socket", errno));
  int on = 1;
  // Without these options (EXT_ACK exists since Linux 4.12, CAP_ACK since 4.3) errors have fewer
  // details.
  mnl_socket_setsockopt(socket, NETLINK_EXT_ACK, &on, sizeof on);
  mnl_socket_setsockopt(socket, NETLINK_CAP_ACK, &on, sizeof on);
  if (::setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &kPatience,
                   sizeof kPatience) < 0)
    return fail(errnoError("set the timeout of a netlink socket", errno));
  return opened;
}

std::uint32_t Socket::port() const {
  return mnl_socket_get_portid(socket_.get());
}

Result<std::string_view> Socket::finish(Message& message, std::uint16_t flags) {
  if (!message.fits_)
    return fail(ErrorCode::Invalid, "an attribute of a netlink message is too long");
  nlmsghdr* const header = message.header();
  header->nlmsg_flags = static_cast<std::uint16_t>(header->nlmsg_flags | flags);
  header->nlmsg_seq = ++sequence_;
  return std::string_view(message.bytes_.data(), header->nlmsg_len);
}

Result<> Socket::send(Message& message, std::uint16_t flags) {
  const auto bytes = finish(message, flags);
  if (!bytes) return fail(bytes.error());
  if (mnl_socket_sendto(socket_.get(), bytes->data(), bytes->size()) < 0)
    return fail(errnoError("send to netlink", errno));
  return {};
}

Result<Socket::Reply> Socket::receive(std::uint32_t first, std::uint32_t last) {
  Reply reply;
  std::optional<Error> lost;
  std::vector<char> buffer(kMaxOfAnswer);
  for (;;) {
    const auto received = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (received < 0) {
      const int number = errno;
      if (number == EINTR) continue;
      if (number == EAGAIN && lost) return fail(*std::move(lost));
      if (number == EAGAIN) return fail(ErrorCode::Timeout, "the kernel does not respond");
      if (number != ENOSPC && number != ENOBUFS)
        return fail(errnoError("receive from netlink", number));
      // libmnl reports MSG_TRUNC as ENOSPC. The rest must be read, because the kernel does not
      // begin another list before.
      lost = errnoError("a part of the kernel's reply was lost", number);
      continue;
    }
    int left = static_cast<int>(received);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
         mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
      if (message->nlmsg_seq - first > last - first || !mnl_nlmsg_portid_ok(message, port()))
        continue;  // for an earlier request
      if (message->nlmsg_flags & NLM_F_DUMP_INTR) reply.interrupted = true;
      std::optional<Error> error;
      switch (message->nlmsg_type) {
        case NLMSG_NOOP:
          continue;
        case NLMSG_ERROR:
          error = errorIn(message);
          break;
        case NLMSG_DONE:
          error = errorOfDump(message);
          break;
        default:
          reply.objects.emplace_back(static_cast<const char*>(mnl_nlmsg_get_payload(message)),
                                     mnl_nlmsg_get_payload_len(message));
          continue;
      }
      if (error) return fail(*std::move(error));
      if (message->nlmsg_seq != last) continue;
      if (lost) return fail(*std::move(lost));
      return reply;
    }
  }
}

Result<> Socket::request(Message message) {
  if (auto sent = send(message, NLM_F_ACK); !sent) return sent;
  auto reply = receive(sequence_, sequence_);
  if (!reply) return fail(std::move(reply.error()));
  return {};
}

Result<std::vector<std::string>> Socket::dump(Message message) {
  for (int attempt = 0; attempt < kDumpAttempts; ++attempt) {
    if (auto sent = send(message, NLM_F_DUMP); !sent) return fail(std::move(sent.error()));
    auto reply = receive(sequence_, sequence_);
    if (!reply) return fail(std::move(reply.error()));
    if (!reply->interrupted) return std::move(reply->objects);
  }
  return fail(ErrorCode::Io,
              fmt::format("the list changed during each of {} attempts to read it", kDumpAttempts));
}

// The kernel takes a transaction in one piece, which must fit into the send buffer.
Result<> Socket::transaction(std::vector<Message> messages) {
  if (messages.empty()) return {};
  const std::uint32_t first = sequence_ + 1;
  const auto last = static_cast<std::uint32_t>(first + messages.size());
  messages.insert(messages.begin(), boundary(NFNL_MSG_BATCH_BEGIN));
  messages.push_back(boundary(NFNL_MSG_BATCH_END));
  std::string all;
  for (auto& message : messages) {
    const bool isBoundary = &message == &messages.front() || &message == &messages.back();
    const auto bytes = finish(message, isBoundary ? 0 : NLM_F_ACK);
    if (!bytes) return fail(bytes.error());
    all.append(*bytes);
  }
  const int size =
      static_cast<int>(std::min<std::size_t>(all.size(), std::numeric_limits<int>::max()));
  ::setsockopt(mnl_socket_get_fd(socket_.get()), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  if (mnl_socket_sendto(socket_.get(), all.data(), all.size()) < 0)
    return fail(errnoError("send to netlink", errno));
  auto reply = receive(first, last);
  if (!reply) return fail(std::move(reply.error()));
  return {};
}

}  // namespace koord::koordlet::netlink
