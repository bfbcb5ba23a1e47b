#pragma once

// Fuzz targets: everything that parses what users, nodes or servers write. A target must return for
// any input, and with kMaxMegabytes of memory: a small input that grows without end is a fault like
// any other. What it claims about the parsed value it checks itself and calls broken() when it is
// not so.
//
//   cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Release
//   -DKOORD_FUZZ=ON ninja -C build/fuzz koord_fuzz KOORD_FUZZ_TARGET=yaml build/fuzz/bin/koord_fuzz
//   -max_total_time=600 /tmp/found tests/fuzz/corpus/yaml KOORD_FUZZ_TARGET=yaml
//   build/fuzz/bin/koord_fuzz -merge=1 tests/fuzz/corpus/yaml /tmp/found

#include <span>
#include <string_view>
#include <utility>

namespace koord::fuzz {

struct Target {
  std::string_view name;  // also the folder of its corpus
  void (*run)(std::string_view input);
};

std::span<const Target> targets();

// Of memory, for any input. Address sanitizer keeps what was freed for a while, so that a fuzzer
// needs more.
constexpr int kMaxMegabytes = 768;

// Ends the process: `what` is not as it must be.
[[noreturn]] void broken(std::string_view what);
inline void check(bool holds, std::string_view what) {
  if (!holds) broken(what);
}

// Inputs of targets that take two texts: what stands before the first line break, and the rest.
std::pair<std::string_view, std::string_view> firstLine(std::string_view input);

void admission(std::string_view input);
void apply(std::string_view input);
void celExpressions(std::string_view input);
void policies(std::string_view input);
void cnmon(std::string_view input);
void codec(std::string_view input);
void configuration(std::string_view input);
void crd(std::string_view input);
void continueTokens(std::string_view input);
void cpuset(std::string_view input);
void deviceFile(std::string_view input);
void jmesPath(std::string_view input);
void jsonPatch(std::string_view input);
void koordletFiles(std::string_view input);
void koordletMachine(std::string_view input);
void kubeconfig(std::string_view input);
void mergePatch(std::string_view input);
void messages(std::string_view input);
void mxSmi(std::string_view input);
void npuSmi(std::string_view input);
void printerColumns(std::string_view input);
void protobuf(std::string_view input);
void quantity(std::string_view input);
void queries(std::string_view input);
void recordings(std::string_view input);
void requests(std::string_view input);
void runtimeHooks(std::string_view input);
void schedulerAnnotations(std::string_view input);
void selectors(std::string_view input);
void spdy(std::string_view input);
void strategicPatch(std::string_view input);
void time(std::string_view input);
void webSocket(std::string_view input);
void xpuSmi(std::string_view input);
void yaml(std::string_view input);

}  // namespace koord::fuzz
