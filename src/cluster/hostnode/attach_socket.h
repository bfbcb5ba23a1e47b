#pragma once

// The socket through which clients attach to a container that a shim runs: attach.sock in the
// container's folder, of the type SOCK_SEQPACKET. A message is one byte with its kind, then bytes.
//
//   client -> shim    In: bytes of standard input; InEnd; Size: columns and rows of the terminal
//   shim -> client    Out, Err: bytes of an output, from the time of the connection on
//
// The shim closes the connection when the container has ended and the client has its output.

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster {

enum class AttachMessage : std::uint8_t { In = 0, Out = 1, Err = 2, Size = 4, InEnd = 5 };
inline constexpr std::size_t kMaxAttachBytes = 32 << 10;  // of a message, without its kind

// `dir`: the container's folder. Its path may be longer than the address of a socket.
Result<Fd> listenForAttach(const std::string& dir);
Result<Fd> connectForAttach(const std::string& dir);

}  // namespace koord::cluster
