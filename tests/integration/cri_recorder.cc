// Stands between a client and a container runtime and writes down what they say, as tests/data/cri
// has it: for each call a line with the method and the status, one with the request and one with
// the answer (or the error's words), in base64. Of a method that is called over and over, the first
// few that differ from the one before; calls that found no runtime are left out. Until it is
// killed.
//
//   cri_recorder LISTEN RUNTIME FILE

#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "base/base64.h"
#include "net/rpc/grpc_channel.h"
#include "net/rpc/grpc_server.h"

namespace koord {
namespace {

constexpr int kMostOfOneKind = 8;
constexpr Duration kPatience = std::chrono::minutes(5);

class Recorder {
 public:
  Recorder(std::string listen, std::string runtime, const std::string& file)
      : channel_(loop_, std::move(runtime)), file_(file) {
    auto started = net::GrpcServer::start(
        loop_, std::move(listen), [this](net::GrpcRequest request, net::GrpcAnswer answer) {
          tasks_.spawn(passOn(this, std::move(request), std::move(answer)));
        });
    if (!started) {
      fmt::print(stderr, "{}\n", started.error().message);
      std::exit(1);
    }
    server_ = *std::move(started);
  }
  void run() { loop_.run(); }

 private:
  static Task<void> passOn(Recorder* self, net::GrpcRequest request, net::GrpcAnswer answer) {
    auto calling =
        self->channel_.call(request.method, request.message, request.timeout.value_or(kPatience));
    net::GrpcReply reply = co_await calling;
    self->write(request, reply);
    answer(std::move(reply));
  }
  void write(const net::GrpcRequest& request, const net::GrpcReply& reply) {
    if (!reply && reply.error().code == net::GrpcCode::Unavailable) return;
    std::string text = fmt::format(
        "{} {}\n{}\n{}\n", request.method, reply ? 0 : static_cast<int>(reply.error().code),
        base64Encode(request.message), base64Encode(reply ? *reply : reply.error().message));
    Written& before = written_[request.method];
    if (before.last == text || ++before.count > kMostOfOneKind) return;
    file_ << text << std::flush;
    before.last = std::move(text);
  }

  struct Written {
    int count = 0;
    std::string last;
  };
  net::IoLoop loop_;
  net::GrpcChannel channel_;
  std::ofstream file_;
  std::unique_ptr<net::GrpcServer> server_;
  std::map<std::string, Written> written_;  // by method
  TaskGroup tasks_;
};

}  // namespace
}  // namespace koord

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: cri_recorder LISTEN RUNTIME FILE\n");
    return 2;
  }
  koord::Recorder(argv[1], argv[2], argv[3]).run();
}
