#pragma once

// The kernel's netlink: messages of attributes in, answers out. What is here is as much as the shaping of
// traffic takes: links, routes, queueing disciplines, classes (NETLINK_ROUTE) and nf_tables (NETLINK_NETFILTER).
//
// Calls are answered by the kernel at once, without waiting for anybody, so they are plain calls. A socket
// belongs to the network namespace of the thread that opened it, and to one thread at a time.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord::koordlet::netlink {

// One message as it is built: a fixed header of the family, then attributes, some of them nested.
class Message {
 public:
  // `header` is the family's struct, such as tcmsg; `flags` besides NLM_F_REQUEST.
  template <class Header>
  Message(std::uint16_t type, std::uint16_t flags, const Header& header)
      : Message(type, flags, bytesOf(header)) {}
  Message(std::uint16_t type, std::uint16_t flags, std::string_view header);

  void add(std::uint16_t attribute, std::string_view bytes);
  void addText(std::uint16_t attribute, std::string_view text);  // with the zero at its end
  void add16(std::uint16_t attribute, std::uint16_t value) { add(attribute, bytesOf(value)); }
  void add32(std::uint16_t attribute, std::uint32_t value) { add(attribute, bytesOf(value)); }
  void add64(std::uint16_t attribute, std::uint64_t value) { add(attribute, bytesOf(value)); }
  // In network order, as nf_tables has its numbers.
  void addNet32(std::uint16_t attribute, std::uint32_t value);
  template <class T>
  void addStruct(std::uint16_t attribute, const T& value) {
    add(attribute, bytesOf(value));
  }
  // All attributes that are added in fn() are inside of this one.
  template <class Fn>
  void nest(std::uint16_t attribute, Fn fn) {
    const std::size_t at = begin(attribute);
    fn();
    end(at);
  }

  std::size_t size() const { return bytes_.size(); }
  // Complete, with that sequence number.
  std::string_view finish(std::uint32_t sequence);

  template <class T>
  static std::string_view bytesOf(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }

 private:
  std::size_t begin(std::uint16_t attribute);
  void end(std::size_t at);

  std::string bytes_;
};

// A message that the kernel sent: its type and what follows the netlink header.
struct Answer {
  std::uint16_t type = 0;
  std::string payload;
};
// The attribute's value among those that follow a header of `skip` bytes; nullopt when it is not there.
std::optional<std::string_view> attributeIn(std::string_view payload, std::size_t skip,
                                            std::uint16_t attribute);
// Copies a number or struct out of bytes that may be shorter or not aligned; nullopt when too short.
template <class T>
std::optional<T> readAs(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  __builtin_memcpy(&value, bytes.data(), sizeof value);
  return value;
}

class Socket {
 public:
  // Of NETLINK_ROUTE or NETLINK_NETFILTER.
  static Result<Socket> open(int protocol);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // An error says what the kernel said: NotFound (ENOENT, ENODEV), Conflict (EEXIST, EBUSY), else Io.
  Result<> request(Message message);
  // All objects that there are, for a message with NLM_F_DUMP.
  Result<std::vector<Answer>> dump(Message message);
  // All of these nf_tables messages take effect, or none.
  Result<> transaction(std::vector<Message> messages);

 private:
  explicit Socket(int fd) : fd_(fd) {}
  Result<> send(std::string_view bytes);
  // What the kernel has answered so far; the first error among it.
  Result<std::vector<Answer>> receive();

  int fd_ = -1;
  std::uint32_t sequence_ = 0;
};

}  // namespace koord::koordlet::netlink
