#pragma once

// The plugin's connection to the runtime: registers, answers calls, and reconnects when the
// connection is lost or the runtime starts later.

#include <functional>
#include <memory>
#include <string>

#include "koordlet/runtimehooks/nri/framing.h"
#include "koordlet/runtimehooks/nri/plugin.h"
#include "net/rpc/io_loop.h"
#include "net/rpc/unix_socket.h"

namespace koord::koordlet::nri {

struct Options {
  bool enabled = true;
  std::string socket = "/host-var-run/nri/nri.sock";
  std::string name = "koordlet_nri";
  std::string index = "00";
  Duration connectTimeout = std::chrono::seconds(6);  // from the connection to the registration
  Duration backoff = std::chrono::seconds(1);         // between tries, growing
  Duration backoffCap = std::chrono::minutes(1);
  double backoffFactor = 2;
  int backoffSteps = 2'147'483'647;  // failed attempts in a row after which it gives up
  // Called on the executor's thread: true when the runtime has accepted the plugin, false when it
  // is gone.
  std::function<void(bool)> onConnected = [](bool) {};
  // Called for each call from the runtime: its method ("unknown" if it is not served), and whether
  // it succeeded.
  std::function<void(std::string_view, bool)> onCalled = [](std::string_view, bool) {};
};

// Checks the options: a plugin's name consists of letters, digits and _.+-, its index of two
// digits.
Result<> check(const Options& options);

// Runs on the loop's thread; calls from the runtime are answered on the executor's.
class Connection {
 public:
  // All arguments must outlive the connection.
  Connection(net::IoLoop& loop, Executor& executor, Plugin& plugin, Options options);
  ~Connection();
  // Call start() and the destructor on the loop's thread.
  void start();
  // Returns true if all allowed attempts have failed.
  bool gaveUp() const { return tries_ >= options_.backoffSteps; }

 private:
  void connect();
  void retry(const std::string& why);
  void lost(const std::string& why);
  void read();
  void take(FrameReader::Arrived arrived);
  void registered(const TtrpcFrame& frame);
  void notifyConnected(bool connected);
  void serve(TtrpcFrame frame);
  void send(std::uint32_t stream, const TtrpcFrame& frame);
  void flush();

  net::IoLoop& loop_;
  Executor& executor_;
  Plugin& plugin_;
  Options options_;
  Duration pause_;
  int tries_ = 0;              // failed attempts in a row
  std::string loggedProblem_;  // the last problem that was logged
  Fd socket_;
  std::unique_ptr<net::IoLoop::Watch> watch_;
  FrameReader reader_;
  std::string unsent_;
  std::uint32_t lastCall_ = 0;
  TimerId timer_ = 0;  // of the registration, or of the next attempt
  bool registered_ = false;
  // Lifetime of this object, and of the connection that a reply belongs to.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<bool> session_;
};

}  // namespace koord::koordlet::nri
