#include "fuzz.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace koord::fuzz {
namespace {

constexpr std::array kTargets{
    Target{"admission", admission},
    Target{"apply", apply},
    Target{"cel", celExpressions},
    Target{"policies", policies},
    Target{"cnmon", cnmon},
    Target{"codec", codec},
    Target{"continuetokens", continueTokens},
    Target{"cpuset", cpuset},
    Target{"configuration", configuration},
    Target{"crd", crd},
    Target{"devicefile", deviceFile},
    Target{"jmespath", jmesPath},
    Target{"jsonpatch", jsonPatch},
    Target{"koordletfiles", koordletFiles},
    Target{"koordletmachine", koordletMachine},
    Target{"kubeconfig", kubeconfig},
    Target{"mergepatch", mergePatch},
    Target{"messages", messages},
    Target{"mxsmi", mxSmi},
    Target{"npusmi", npuSmi},
    Target{"printercolumns", printerColumns},
    Target{"protobuf", protobuf},
    Target{"quantity", quantity},
    Target{"queries", queries},
    Target{"recordings", recordings},
    Target{"requests", requests},
    Target{"runtimehooks", runtimeHooks},
    Target{"schedulerannotations", schedulerAnnotations},
    Target{"selectors", selectors},
    Target{"time", time},
    Target{"spdy", spdy},
    Target{"strategicpatch", strategicPatch},
    Target{"websocket", webSocket},
    Target{"xpusmi", xpuSmi},
    Target{"yaml", yaml},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

void broken(std::string_view what) {
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::pair<std::string_view, std::string_view> firstLine(std::string_view input) {
  const auto end = input.find('\n');
  if (end == input.npos) return {input, {}};
  return {input.substr(0, end), input.substr(end + 1)};
}

}  // namespace koord::fuzz
