#include "koordlet/netlink/netlink.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace koord::koordlet::netlink {
namespace {

constexpr std::size_t kLargestAnswer = 64 * 1024;

void pad(std::string& bytes) {
  bytes.resize(NLMSG_ALIGN(bytes.size()), '\0');
}

// The error of a message of type NLMSG_ERROR; nullopt for an acknowledgement.
std::optional<Error> errorIn(std::string_view payload) {
  const auto error = readAs<nlmsgerr>(payload);
  if (!error || error->error == 0) return std::nullopt;
  const int number = -error->error;
  std::string said = std::strerror(number);
  // With NETLINK_CAP_ACK no more than the header of the request is repeated.
  if (const auto text = attributeIn(payload, sizeof(nlmsgerr), NLMSGERR_ATTR_MSG))
    said += fmt::format(": {}", text->substr(0, text->find('\0')));
  ErrorCode code = ErrorCode::Io;
  if (number == ENOENT || number == ENODEV) code = ErrorCode::NotFound;
  if (number == EEXIST || number == EBUSY) code = ErrorCode::Conflict;
  return Error{code, std::move(said)};
}

}  // namespace

Message::Message(std::uint16_t type, std::uint16_t flags, std::string_view header) {
  nlmsghdr start{};
  start.nlmsg_type = type;
  start.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
  bytes_.append(bytesOf(start));
  bytes_.append(header);
  pad(bytes_);
}

std::size_t Message::begin(std::uint16_t attribute) {
  const std::size_t at = bytes_.size();
  nlattr start{};
  start.nla_type = attribute;
  bytes_.append(bytesOf(start));
  return at;
}

void Message::end(std::size_t at) {
  const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
  std::memcpy(bytes_.data() + at, &length, sizeof length);
  pad(bytes_);
}

void Message::add(std::uint16_t attribute, std::string_view bytes) {
  const std::size_t at = begin(attribute);
  bytes_.append(bytes);
  end(at);
}

void Message::addText(std::uint16_t attribute, std::string_view text) {
  const std::size_t at = begin(attribute);
  bytes_.append(text);
  bytes_.push_back('\0');
  end(at);
}

void Message::addNet32(std::uint16_t attribute, std::uint32_t value) {
  add32(attribute, htonl(value));
}

std::string_view Message::finish(std::uint32_t sequence) {
  nlmsghdr start;
  std::memcpy(&start, bytes_.data(), sizeof start);
  start.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
  start.nlmsg_seq = sequence;
  std::memcpy(bytes_.data(), &start, sizeof start);
  return bytes_;
}

std::optional<std::string_view> attributeIn(std::string_view payload, std::size_t skip,
                                            std::uint16_t attribute) {
  skip = NLMSG_ALIGN(skip);
  if (payload.size() < skip) return std::nullopt;
  payload.remove_prefix(skip);
  while (payload.size() >= sizeof(nlattr)) {
    const auto start = *readAs<nlattr>(payload);
    if (start.nla_len < sizeof(nlattr) || start.nla_len > payload.size()) return std::nullopt;
    if ((start.nla_type & NLA_TYPE_MASK) == attribute)
      return payload.substr(sizeof(nlattr), start.nla_len - sizeof(nlattr));
    payload.remove_prefix(std::min<std::size_t>(NLA_ALIGN(start.nla_len), payload.size()));
  }
  return std::nullopt;
}

Result<Socket> Socket::open(int protocol) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (fd < 0) return fail(errnoError("open a netlink socket", errno));
  const int on = 1;
  ::setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);  // older kernels say less
  ::setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  return Socket(fd);
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), sequence_(other.sequence_) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(sequence_, other.sequence_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Result<> Socket::send(std::string_view bytes) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const auto sent = ::sendto(fd_, bytes.data(), bytes.size(), 0,
                             reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
  if (sent < 0) return fail(errnoError("send to netlink", errno));
  return {};
}

// The kernel works in the call that sends, or, of a dump, in the one that receives; so everything is there, and an
// empty queue is the end.
Result<std::vector<Answer>> Socket::receive() {
  std::vector<Answer> answers;
  std::optional<Error> error;
  std::string buffer(kLargestAnswer, '\0');
  for (;;) {
    const auto size = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) return fail(errnoError("receive from netlink", errno));
    std::string_view rest(buffer.data(), static_cast<std::size_t>(size));
    while (const auto start = readAs<nlmsghdr>(rest)) {
      if (start->nlmsg_len < sizeof(nlmsghdr) || start->nlmsg_len > rest.size()) break;
      const auto payload = rest.substr(NLMSG_HDRLEN, start->nlmsg_len - NLMSG_HDRLEN);
      if (start->nlmsg_type == NLMSG_ERROR) {
        if (auto problem = errorIn(payload); problem && !error) error = std::move(problem);
      } else if (start->nlmsg_type != NLMSG_DONE && start->nlmsg_type != NLMSG_NOOP) {
        answers.push_back({start->nlmsg_type, std::string(payload)});
      }
      rest.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(start->nlmsg_len), rest.size()));
    }
  }
  if (error) return fail(*std::move(error));
  return answers;
}

Result<> Socket::request(Message message) {
  auto sent = send(message.finish(++sequence_));
  if (!sent) return sent;
  auto answers = receive();
  if (!answers) return fail(std::move(answers.error()));
  return {};
}

Result<std::vector<Answer>> Socket::dump(Message message) {
  auto sent = send(message.finish(++sequence_));
  if (!sent) return fail(std::move(sent.error()));
  return receive();
}

Result<> Socket::transaction(std::vector<Message> messages) {
  nfgenmsg all{};
  all.res_id = htons(NFNL_SUBSYS_NFTABLES);
  std::string bytes(Message(NFNL_MSG_BATCH_BEGIN, 0, all).finish(++sequence_));
  for (auto& message : messages) bytes.append(message.finish(++sequence_));
  bytes.append(Message(NFNL_MSG_BATCH_END, 0, all).finish(++sequence_));
  auto sent = send(bytes);
  if (!sent) return sent;
  auto answers = receive();
  if (!answers) return fail(std::move(answers.error()));
  return {};
}

}  // namespace koord::koordlet::netlink
