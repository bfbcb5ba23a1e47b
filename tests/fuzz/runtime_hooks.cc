// What koord-runtime-proxy and koordlet read from container runtimes, clients and hook servers:
// each parser reads every input.

#include "base/json.h"
#include "fuzz.h"
#include "koordlet/runtimehooks/nri/framing.h"
#include "koordlet/runtimehooks/nri/plugin.h"
#include "net/rpc/grpc.h"
#include "runtimeproxy/docker/docker_api.h"
#include "runtimeproxy/docker/http_reader.h"
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
  // Streams may be distinguished in another order when the bytes come one by one.
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
void hookRequests(std::string_view input) {
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

// All bytes that a reader of HTTP hands on, and whether it found an error.
std::pair<std::string, bool> httpIn(runtimeproxy::HttpReader::Role role, std::string_view input,
                                    std::size_t step) {
  using Kind = runtimeproxy::HttpReader::Piece::Kind;
  runtimeproxy::HttpReader reader(role);
  std::string bytes;
  for (std::size_t at = 0; at < input.size(); at += step) {
    reader.add(input.substr(at, step));
    for (;;) {
      auto piece = reader.next();
      if (!piece) return {bytes, true};
      if (!*piece) break;
      bytes += (*piece)->kind == Kind::Head ? (*piece)->head.text : (*piece)->raw;
      check((*piece)->content.size() <= (*piece)->raw.size(), "content is part of a body");
    }
  }
  return {bytes + reader.takeRest(), false};
}

void dockerBytes(std::string_view input) {
  for (const auto role :
       {runtimeproxy::HttpReader::Role::Request, runtimeproxy::HttpReader::Role::Response}) {
    const auto whole = httpIn(role, input, input.size() + 1);
    check(whole.second || whole.first == input, "no byte is lost or made");
    const auto single = httpIn(role, input, 1);
    check(single.second == whole.second && (whole.second || single.first == whole.first),
          "messages are found however their bytes come");
  }
  runtimeproxy::dockerTargetOf("POST", input);
  if (const auto name = runtimeproxy::kubernetesNameOf(input))
    check(name->pod.find('_') == name->pod.npos, "names have no separators");
  for (const bool systemd : {false, true}) {
    const auto parent = runtimeproxy::hookCgroupParent(input, systemd);
    if (systemd && parent != input)
      check(runtimeproxy::dockerCgroupParent(parent, true) == input, "a slice has one path");
  }
  auto document = parseJson(input);
  if (!document || !document->is_object()) return;
  const auto resources = runtimeproxy::dockerResources(*document);
  auto changed = resources;
  changed.set_cpu_quota(7);
  runtimeproxy::writeResources(resources, changed, document->get_object());
  check(runtimeproxy::dockerResources(*document).SerializeAsString() == changed.SerializeAsString(),
        "what is written is read again");
  const auto container = runtimeproxy::dockerContainer({}, *document, *document);
  runtimeproxy::writeEnvironment(container.container_envs(), document->get_object());
}

}  // namespace

void runtimeHooks(std::string_view input) {
  frameBytes(input);
  hookRequests(input);
  dockerBytes(input);
  const auto server = runtimeproxy::parseHookServer("x.json", input);
  check(!server || !server->endpoint.empty(), "a hook server has a socket");
  runtimehook::ContainerResourceHookRequest container;
  runtimeproxy::readRuntimeSpec(input, container);
  runtimeproxy::cgroupParentIn(input);
  const auto events = koordlet::nri::eventsIn(std::string(input));
  check(!events || *events >= 0, "events are a mask");
}

}  // namespace koord::fuzz
