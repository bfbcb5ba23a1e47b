// What koord-runtime-proxy and koordlet read from container runtimes, clients and hook servers: each
// parser reads every input.

#include "fuzz.h"
#include "koordlet/runtimehooks/nri/framing.h"
#include "koordlet/runtimehooks/nri/plugin.h"
#include "net/rpc/grpc.h"
#include "runtimeproxy/hook_config.h"
#include "runtimeproxy/merge.h"
#include "runtimeproxy/runtime_view.h"

namespace koord::fuzz {

namespace {

using koordlet::nri::FrameReader;

std::vector<FrameReader::Arrived> framesIn(std::string_view input, std::size_t step) {
  FrameReader reader;
  std::vector<FrameReader::Arrived> frames;
  for (std::size_t at = 0; at < input.size(); at += step) {
    reader.add(input.substr(at, step));
    for (;;) {
      auto next = reader.next();
      if (!next) return frames;  // and nothing after it
      if (!*next) break;
      frames.push_back(*std::move(*next));
    }
  }
  return frames;
}

void frameBytes(std::string_view input) {
  const auto whole = framesIn(input, input.size() + 1);
  // Streams may be told apart in another order when the bytes come one by one.
  check(framesIn(input, 1).size() >= whole.size(), "frames are found however their bytes come");
  for (const auto& arrived : whole) {
    const auto again = framesIn(koordlet::nri::encode(arrived.stream, arrived.frame), 4096);
    check(again.size() == 1 && again[0].frame == arrived.frame, "what is written is what was read");
  }
  const auto message = net::grpcMessage(input);
  check(!message || net::grpcFrame(*message) == input, "a message has one frame");
  if (const auto timeout = net::parseGrpcTimeout(input))
    check(net::parseGrpcTimeout(net::formatGrpcTimeout(*timeout)).has_value(),
          "a timeout can be passed on");
}

// Requests of kubelet, and answers of hook servers to them.
void requests(std::string_view input) {
  const std::string text(input);
  cri::CreateContainerRequest create;
  runtimehook::ContainerResourceHookResponse answer;
  if (create.ParseFromString(text)) {
    auto known = runtimeproxy::containerOf(create);
    if (answer.ParseFromString(text)) runtimeproxy::merge(answer, known);
    runtimeproxy::apply(known, true, create);
    check(static_cast<std::size_t>(create.config().envs_size()) == known.container_envs().size(),
          "each variable is there once");
    check(
        runtimeproxy::containerOf(create).container_envs().size() == known.container_envs().size(),
        "and is found again");
  }
  cri::RunPodSandboxRequest run;
  runtimehook::PodSandboxHookResponse podAnswer;
  if (run.ParseFromString(text) && podAnswer.ParseFromString(text)) {
    auto known = runtimeproxy::podOf(run.config(), run.runtime_handler());
    runtimeproxy::merge(podAnswer, known);
    runtimeproxy::apply(known, run);
  }
}

}  // namespace

void runtimeHooks(std::string_view input) {
  frameBytes(input);
  requests(input);
  const auto server = runtimeproxy::parseHookServer("x.json", input);
  check(!server || !server->endpoint.empty(), "a hook server has a socket");
  runtimehook::ContainerResourceHookRequest container;
  runtimeproxy::readRuntimeSpec(input, container);
  runtimeproxy::cgroupParentIn(input);
  const auto events = koordlet::nri::eventsIn(std::string(input));
  check(!events || *events >= 0, "events are a mask");
}

}  // namespace koord::fuzz
