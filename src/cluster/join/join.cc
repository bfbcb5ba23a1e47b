#include "cluster/join/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "base/event_loop.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "cluster/join/invitation.h"
#include "cluster/up/addresses.h"
#include "cluster/up/components.h"
#include "cluster/up/credentials.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/host.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kChildGrace = 3s;
constexpr Duration kPodGrace = 3s;
constexpr std::size_t kMostInvitation = 1 << 20;

Result<std::string> readInvitation(const std::string& path) {
  if (path != "-") return readFile(path);
  std::string text;
  char buffer[4096];
  while (std::cin.read(buffer, sizeof buffer), std::cin.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > kMostInvitation)
      return fail(ErrorCode::Invalid, "standard input: too large for an invitation");
  }
  return text;
}

// The given invitation, which the data folder keeps, or the kept one.
Result<Invitation> takeInvitation(const std::string& path, const DataDir& data) {
  const std::string kept = data.file("invitation.yaml");
  const auto text = readInvitation(path.empty() ? kept : path);
  if (!text && path.empty())
    return fail(ErrorCode::NotFound,
                "INVITATION: is missing; 'koordctl invite NODE' prints one on the cluster's host");
  if (!text) return fail(text.error());
  auto invitation = parseInvitation(*text);
  if (!invitation)
    return fail(std::move(invitation.error()).within(path.empty() ? kept : "invitation " + path));
  if (!path.empty())
    if (auto put = writeFileAtomic(kept, *text); !put) return fail(std::move(put.error()));
  return invitation;
}

// Returns true if a kubelet on another host than `here` keeps the node ready.
bool runsElsewhere(const api::Node& node, const api::NodeSystemInfo& here) {
  const auto ready = std::ranges::find(node.status.conditions, "Ready", &api::NodeCondition::type);
  const auto& there = node.status.nodeInfo.machineID;
  return ready != node.status.conditions.end() && ready->status == "True" && !there.empty() &&
         !(there == here.machineID);
}

class Join {
 public:
  Join(EventLoop& loop, net::HttpClient& http, const JoinOptions& options, const DataDir& data)
      : loop_(loop), http_(http), options_(options), data_(data) {}

  Result<> open(const Invitation& invitation, const std::string& program);
  void start() { tasks_->spawn(begin()); }
  Task<void> shutdown();
  int status() const { return status_; }  // of the program's exit
  void release() {
    supervisor_.reset();
    host_.reset();
    api_.reset();
  }

 private:
  Task<void> begin();
  Task<void> reportJoined();
  void say(const std::string& line) const {
    if (!options_.quiet) std::fprintf(stderr, "koordctl: %s\n", line.c_str());
  }

  EventLoop& loop_;
  net::HttpClient& http_;
  const JoinOptions& options_;
  const DataDir& data_;
  std::string server_;
  int status_ = 0;
  Component koordlet_;
  std::unique_ptr<kube::HttpApi> api_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<TaskGroup> tasks_ = std::make_unique<TaskGroup>();
};

Result<> Join::open(const Invitation& invitation, const std::string& program) {
  server_ = invitation.server;
  const std::string kubelet = data_.file("kubelet.kubeconfig");
  const std::string koordlet = data_.file("koordlet.kubeconfig");
  const auto put = [&](const std::string& path, const std::string& user, const net::CertKey& pair) {
    return writeFileAtomic(path, kubeconfigOf(server_, invitation.authority, user, pair));
  };
  if (auto done = put(kubelet, "system:node:" + invitation.node, invitation.kubelet); !done)
    return done;
  if (auto done = put(koordlet, userOf("koordlet").name, invitation.koordlet); !done) return done;
  auto config = kube::loadClientConfig({.kubeconfig = kubelet, .context = {}, .server = {}});
  if (!config) return fail(std::move(config.error()));
  api_ = std::make_unique<kube::HttpApi>(http_, loop_, *std::move(config),
                                         kube::HttpApiOptions{.userAgent = "koordctl"});
  std::string address = options_.address;
  if (address.empty()) {
    auto own = addressTowards(server_);
    if (!own) return fail(std::move(own.error()).within("--address"));
    address = *std::move(own);
  }
  auto host =
      Host::open(*api_, loop_, Random(Random::entropy()),
                 {.dataDir = data_.path(),
                  .runtime = options_.runtime,
                  .program = program,
                  .tls = std::make_shared<const net::ServerTls>(
                      invitation.serving.certPem, invitation.serving.keyPem, invitation.authority),
                  .http = &http_,
                  .nodeName = invitation.node,
                  .address = address});
  if (!host) return fail(std::move(host.error()));
  host_ = *std::move(host);
  if (const auto& note = host_->note(); !note.empty()) say("note: " + note);
  supervisor_ = std::make_unique<Supervisor>(loop_, [](const std::string&) {});
  ComponentOptions component;
  component.programDir = std::filesystem::path(program).parent_path();
  component.logDir = data_.file("logs");
  component.dataDir = data_.path();
  component.nodeName = invitation.node;
  component.cgroupRoot = host_->cgroupRoot();
  component.containerd = host_->containerdSocket();
  component.runtimeProxy = options_.runtime.proxy;
  component.verbosity = options_.verbosity;
  auto made = makeComponent("koordlet", koordlet, component);
  if (!made) return fail(std::move(made.error()));
  koordlet_ = *std::move(made);
  return {};
}

// Two kubelets of one node would both run its pods, and replace each other's status.
Task<void> Join::begin() {
  auto asking = kube::get<api::Node>(*api_, {"", host_->nodeName()});
  const auto known = co_await asking;
  if (known && runsElsewhere(*known, host_->machine().info)) {
    std::fprintf(stderr,
                 "koordctl: node %s is ready on another host: invite this one by another name, or "
                 "stop the other one and wait until the node is not ready\n",
                 host_->nodeName().c_str());
    status_ = 1;
    loop_.post([this] {
      release();
      loop_.post([loop = &loop_] { loop->stop(); });
    });
    co_return;
  }
  say(fmt::format("node {} joins {}", host_->nodeName(), server_));
  host_->node().start();
  supervisor_->start(koordlet_.child);
  auto reporting = reportJoined();
  co_await reporting;
}

// Says when the node is registered, and why it is not after a while.
Task<void> Join::reportJoined() {
  Duration waited{};
  while (!host_->node().registered()) {
    auto pause = sleepFor(loop_, 100ms);
    co_await pause;
    waited += 100ms;
    if (waited % 10s == Duration{}) {
      auto asking = kube::getObject(*api_, api::Node::kType, {"", host_->nodeName()});
      const auto asked = co_await asking;
      say(asked ? "still not registered"
                : fmt::format("still not registered: {}; retrying", asked.error().message));
    }
  }
  say(fmt::format("node {} is registered; Ctrl-C ends its pods and removes it from the cluster",
                  host_->nodeName()));
  if (options_.quiet) {
    std::puts("ready");
    std::fflush(stdout);
  }
}

Task<void> Join::shutdown() {
  say("leaving");
  tasks_.reset();
  if (!host_) co_return;
  auto stopping = supervisor_->stopAll(kChildGrace);
  co_await stopping;
  auto leaving = host_->shutdown(kPodGrace);
  co_await leaving;
}

Task<void> stopJoin(Join* join, EventLoop* loop) {
  auto stopping = join->shutdown();
  co_await stopping;
  loop->post([join, loop] {
    join->release();
    loop->post([loop] { loop->stop(); });
  });
}

}  // namespace

int runJoin(const JoinOptions& options, const std::string& program) {
  const auto refuse = [](const Error& error) {
    std::fprintf(stderr, "koordctl: %s\n", error.message.c_str());
    return 1;
  };
  auto data = DataDir::open(options.dataDir.empty() ? defaultDataDir() : options.dataDir);
  if (!data) return refuse(data.error());
  log::setup(
      {.program = "koordctl", .verbosity = options.verbosity, .file = data->log("koordctl")});
  const auto invitation = takeInvitation(options.invitation, *data);
  if (!invitation) return refuse(invitation.error());

  EventLoop loop;
  net::HttpClient http({.userAgent = "koordctl"});
  TaskGroup tasks;
  Join join(loop, http, options, *data);
  bool stopping = false;
  SignalWatcher signals(loop, [&](int) {
    if (!std::exchange(stopping, true)) tasks.spawn(stopJoin(&join, &loop));
  });
  if (auto opened = join.open(*invitation, program); !opened) return refuse(opened.error());
  loop.post([&] { join.start(); });
  loop.run();
  return join.status();
}

}  // namespace koord::cluster
