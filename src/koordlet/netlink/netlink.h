#pragma once

// Requests to the kernel by netlink (libmnl): links, routes, queueing disciplines and traffic
// classes (NETLINK_ROUTE), and nf_tables (NETLINK_NETFILTER).
//
// Calls block until the kernel has answered, which it does at once. After two seconds without an
// answer they fail with Timeout. A socket belongs to the network namespace of the thread that
// opened it. Only one thread at a time may use it.

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct mnl_socket;
struct nlmsghdr;

namespace koord::koordlet::netlink {

// The bytes of a number or struct, which must outlive the result.
template <class T>
std::string_view bytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A request: a netlink header, the fixed header of the family (such as tcmsg), then attributes,
// which may be nested. Sending a message with an attribute of 64 KiB or more fails.
class Message {
 public:
  template <class Header>
  Message(std::uint16_t type, std::uint16_t flags, const Header& header)
      : Message(type, flags, bytesOf(header)) {}
  Message(std::uint16_t type, std::uint16_t flags, std::string_view header);

  void add(std::uint16_t attribute, std::string_view bytes);
  void addText(std::uint16_t attribute, const std::string& text);  // with a terminating zero
  // Numbers in the host's byte order.
  void add32(std::uint16_t attribute, std::uint32_t value) { add(attribute, bytesOf(value)); }
  void add64(std::uint16_t attribute, std::uint64_t value) { add(attribute, bytesOf(value)); }
  template <class T>
  void addStruct(std::uint16_t attribute, const T& value) {
    add(attribute, bytesOf(value));
  }
  // The attributes that fn() adds are nested in this one.
  template <class Fn>
  void nest(std::uint16_t attribute, Fn fn) {
    const std::size_t at = begin(attribute);
    fn();
    end(at);
  }

 private:
  friend class Socket;
  std::size_t begin(std::uint16_t attribute);
  void end(std::size_t at);
  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }

  std::vector<char> bytes_;
  bool fits_ = true;
};

// The value of an attribute among those that follow a header of `skip` bytes; nullopt if absent.
std::optional<std::string_view> attributeIn(std::string_view payload, std::size_t skip,
                                            std::uint16_t attribute);
// A number or struct from the start of `bytes`, which need not be aligned; nullopt if `bytes` is
// too short.
template <class T>
std::optional<T> readAs(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Errors: NotFound (the kernel returned ENOENT or ENODEV), Conflict (EEXIST, EBUSY), Timeout (no
// answer), else Io.
class Socket {
 public:
  // `protocol`: NETLINK_ROUTE or NETLINK_NETFILTER.
  static Result<Socket> open(int protocol);

  // Sends a message and waits until the kernel acknowledges it.
  Result<> request(Message message);
  // All objects of the kind that the message requests, each as the bytes after its netlink header.
  // If the list changes while the kernel writes it, it is read again.
  Result<std::vector<std::string>> dump(Message message);
  // Sends messages about nf_tables. Either all of them take effect, or none.
  Result<> transaction(std::vector<Message> messages);

  // The netlink port id of this socket, to which the kernel sends its answers.
  std::uint32_t port() const;

 private:
  struct Close {
    void operator()(mnl_socket* socket) const;
  };
  struct Reply {
    std::vector<std::string> objects;
    bool interrupted = false;  // the list changed while it was read
  };
  explicit Socket(mnl_socket* socket) : socket_(socket) {}
  // Gives the message the next sequence number and returns its bytes. Fails with Invalid if an
  // attribute is too long.
  Result<std::string_view> finish(Message& message, std::uint16_t flags);
  Result<> send(Message& message, std::uint16_t flags);
  // Reads the answers to the messages `first` to `last`, until the kernel acknowledges the last
  // message or refuses one.
  Result<Reply> receive(std::uint32_t first, std::uint32_t last);

  std::unique_ptr<mnl_socket, Close> socket_;
  std::uint32_t sequence_ = 0;  // of the last message that was sent
};

}  // namespace koord::koordlet::netlink
