#include "runtimeproxy/unary_caller.h"

#include <algorithm>

namespace koord::runtimeproxy {
namespace {

constexpr std::size_t kMaxChannels = 10;

}  // namespace

Future<net::GrpcReply> ChannelPool::call(const std::string& socket, const std::string& method,
                                         std::string message, Duration timeout) {
  const auto known = std::ranges::find_if(
      channels_, [&](const auto& channel) { return channel->path() == socket; });
  if (known != channels_.end()) {
    channels_.splice(channels_.begin(), channels_, known);
  } else {
    channels_.push_front(std::make_unique<net::GrpcChannel>(loop_, socket));
    // A channel with running calls stays, because closing it would cut them.
    for (auto it = std::prev(channels_.end());
         channels_.size() > kMaxChannels && it != channels_.begin(); --it)
      if ((*it)->idle()) it = channels_.erase(it);
  }
  return channels_.front()->call(method, message, timeout);
}

}  // namespace koord::runtimeproxy
