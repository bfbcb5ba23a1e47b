#include "koordlet/netlink/netlink.h"

#include <fmt/core.h>
#include <libmnl/libmnl.h>
#include <libnftnl/batch.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

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

constexpr std::size_t kMaxOfMessage = 4096;
constexpr std::size_t kMaxOfAnswer = 32 * 1024;  // as much as the kernel writes at once
// Pages of a batch. A message may contain an attribute of 64 KiB.
constexpr std::uint32_t kBatchPage = 128 * 1024, kMaxOfBatchMessage = 80 * 1024;
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

}  // namespace

Message::Message(std::uint16_t type, std::uint16_t flags, std::string_view header)
    : bytes_(kMaxOfMessage) {
  nlmsghdr* const start = mnl_nlmsg_put_header(bytes_.data());
  start->nlmsg_type = type;
  start->nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
  std::memcpy(mnl_nlmsg_put_extra_header(start, header.size()), header.data(), header.size());
}

std::size_t Message::begin(std::uint16_t attribute) {
  const std::size_t at = header()->nlmsg_len;
  fits_ = mnl_attr_nest_start_check(header(), bytes_.size(), attribute) != nullptr && fits_;
  return at;
}

void Message::end(std::size_t at) {
  if (fits_) mnl_attr_nest_end(header(), reinterpret_cast<nlattr*>(bytes_.data() + at));
}

void Message::add(std::uint16_t attribute, std::string_view bytes) {
  fits_ =
      mnl_attr_put_check(header(), bytes_.size(), attribute, bytes.size(), bytes.data()) && fits_;
}

void Message::addText(std::uint16_t attribute, const std::string& text) {
  add(attribute, {text.c_str(), text.size() + 1});
}

Batch::Batch(std::uint32_t sequence)
    : batch_(nftnl_batch_alloc(kBatchPage, kMaxOfBatchMessage)), sequence_(sequence) {
  nftnl_batch_begin(static_cast<char*>(nftnl_batch_buffer(batch_.get())), sequence_);
  nftnl_batch_update(batch_.get());
}

char* Batch::end() const {
  return static_cast<char*>(nftnl_batch_buffer(batch_.get()));
}

void Batch::add(std::uint16_t type, std::uint16_t flags,
                const std::function<void(nlmsghdr*)>& build) {
  build(nftnl_nlmsg_build_hdr(end(), type, NFPROTO_INET,
                              static_cast<std::uint16_t>(flags | NLM_F_ACK), ++sequence_));
  nftnl_batch_update(batch_.get());
}

std::vector<iovec> Batch::finish() {
  nftnl_batch_end(end(), ++sequence_);
  nftnl_batch_update(batch_.get());
  std::vector<iovec> parts(static_cast<std::size_t>(nftnl_batch_iovec_len(batch_.get())));
  nftnl_batch_iovec(batch_.get(), parts.data(), static_cast<std::uint32_t>(parts.size()));
  return parts;
}

void Batch::Free::operator()(nftnl_batch* batch) const {
  nftnl_batch_free(batch);
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

Result<> Socket::send(Message& message, std::uint16_t flags) {
  if (!message.fits_) return fail(ErrorCode::Invalid, "a netlink message is too long");
  nlmsghdr* const header = message.header();
  header->nlmsg_flags = static_cast<std::uint16_t>(header->nlmsg_flags | flags);
  header->nlmsg_seq = ++sequence_;
  if (mnl_socket_sendto(socket_.get(), header, header->nlmsg_len) < 0)
    return fail(errnoError("send to netlink", errno));
  return {};
}

Result<> Socket::send(std::vector<iovec> parts) {
  const int fd = mnl_socket_get_fd(socket_.get());
  std::size_t size = 0;
  for (const auto& part : parts) size += part.iov_len;
  // The kernel takes a transaction in one piece, which must fit into the send buffer.
  const int room = static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  msghdr message{};
  message.msg_name = &kernel;
  message.msg_namelen = sizeof kernel;
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (::sendmsg(fd, &message, 0) < 0) return fail(errnoError("send to netlink", errno));
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

Result<> Socket::transaction(const std::function<void(Batch&)>& fill) {
  const std::uint32_t first = sequence_ + 1;
  Batch batch(first);
  fill(batch);
  const std::uint32_t last = batch.sequence_;
  auto parts = batch.finish();
  sequence_ = batch.sequence_;
  if (last == first) return {};  // no messages
  if (auto sent = send(std::move(parts)); !sent) return sent;
  auto reply = receive(first, last);
  if (!reply) return fail(std::move(reply.error()));
  return {};
}

}  // namespace koord::koordlet::netlink
