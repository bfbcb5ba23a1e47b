#include "cluster/up/status_render.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "base/utf8.h"
#include "cluster/up/text_table.h"

namespace koord::cluster {

namespace {

using Lines = std::vector<std::string>;

constexpr int kBarCells = 10;
constexpr std::size_t kLinesOfReason = 3;  // of one pending pod
constexpr std::size_t kMaxMessages = 5;    // of one kind
constexpr std::size_t kMaxMoves = 4;

// The content, shortened and complete.
struct Parts {
  Lines head;
  Lines components;
  std::string componentsLine;
  Lines nodes;  // the first line has the titles
  Lines batch;
  std::string pods;
  std::vector<Lines> waiting;  // of each pod
  Lines moves;
  Lines qos;
};

// Names and reasons come from other programs and may contain line breaks.
std::string inOneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return printable(text);
}

std::string bar(std::int64_t part, std::int64_t whole) {
  const auto full =
      whole <= 0 ? 0 : std::clamp<std::int64_t>(part * kBarCells / whole, 0, kBarCells);
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarCells - full), '.');
}

void append(Lines& to, Lines lines) {
  for (auto& line : lines) to.push_back(std::move(line));
}

std::string stateOf(const NodeLine& node) {
  if (!node.ready) return "NotReady";
  return node.host ? "this host" : node.simulated ? "simulated" : "Ready";
}

Lines nodeLines(const std::vector<NodeLine>& nodes, int width) {
  TextTable table({{"NODE", false, 0, true},
                   {"STATE", false, 3},
                   {"LOAD", false, 7},
                   {"USED/CORES", true, 2},
                   {"MEMORY", true, 6},
                   {"BATCH-CPU", true},
                   {"BATCH-MEMORY", true},
                   {"BE-CPU", true, 1},
                   {"LS", true, 5},
                   {"BE", true, 4},
                   {"AGE", true}});
  for (const auto& node : nodes) {
    const Amounts used = node.used.value_or(Amounts{});
    table.add(
        {node.name, stateOf(node), node.used ? bar(used.cpuMilli, node.allocatable.cpuMilli) : "",
         fmt::format("{}/{}", node.used ? cores(used.cpuMilli) : "-",
                     cores(node.allocatable.cpuMilli)),
         fmt::format("{}/{}", node.used ? bytesText(used.memoryBytes) : "-",
                     bytesText(node.allocatable.memoryBytes)),
         fmt::format("{}/{}", cores(node.batchRequested.cpuMilli), cores(node.batch.cpuMilli)),
         fmt::format("{}/{}", bytesText(node.batchRequested.memoryBytes),
                     bytesText(node.batch.memoryBytes)),
         cores(node.beUsed.cpuMilli), std::to_string(node.lsPods), std::to_string(node.bePods),
         node.age ? ageText(*node.age) : "-"});
  }
  return table.lines(width);
}

Lines componentLines(const std::vector<ComponentLine>& components, int width) {
  TextTable table({{"COMPONENT", false, 0, true},
                   {"STATE", false, 0, true},
                   {"RESTARTS", true, 2},
                   {"AGE", true, 1},
                   {"WHERE", false, 3}});
  for (const auto& one : components)
    table.add({one.name, one.state, one.restarts ? std::to_string(*one.restarts) : "-",
               one.age ? ageText(*one.age) : "-", one.where});
  return table.lines(width);
}

Parts partsOf(const ClusterStatus& status, int width) {
  Parts parts;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(status.uptime);
  const std::string up = seconds.count() > 0 ? "  up " + formatDuration(seconds) : std::string();
  parts.head.push_back(ellipsized("API server " + status.server + up, width));
  if (!status.kubeconfig.empty())
    parts.head.push_back(ellipsized("kubeconfig " + status.kubeconfig, width));
  for (const auto& note : status.notes) append(parts.head, wrapped("note: " + note, width, 6));
  if (!status.components.empty()) {
    parts.components = componentLines(status.components, width);
    std::string line;
    for (const auto& one : status.components)
      line += (line.empty() ? "" : ", ") + one.name + " " + one.state;
    parts.componentsLine = ellipsized(std::move(line), width);
  }
  parts.nodes = nodeLines(status.nodes, width);
  for (std::size_t i = 0; i < std::min(status.batch.size(), kMaxMessages); ++i)
    append(parts.batch, wrapped(status.batch[i], width, 2));
  if (status.batch.size() > kMaxMessages)
    parts.batch.push_back(
        fmt::format("and {} more nodes with little batch-cpu", status.batch.size() - kMaxMessages));
  parts.pods = "PODS";
  for (const auto& [phase, count] : status.pods) parts.pods += fmt::format("  {} {}", count, phase);
  if (status.pods.empty()) parts.pods += "  none";
  parts.pods = ellipsized(std::move(parts.pods), width);
  for (const auto& why : status.pending) {
    Lines lines = wrapped("  waiting: " + why, width, 4);
    if (lines.size() > kLinesOfReason) {
      lines.resize(kLinesOfReason);
      lines.back() = ellipsized(lines.back() + " …", width);
    }
    parts.waiting.push_back(std::move(lines));
  }
  const Moves& moves = status.moves;
  if (!moves.lines.empty())
    parts.moves.push_back(ellipsized(fmt::format("MOVES  {} in progress  {} done  {} failed",
                                                 moves.open, moves.done, moves.failed),
                                     width));
  for (std::size_t i = 0; i < std::min(moves.lines.size(), kMaxMoves); ++i)
    parts.moves.push_back(ellipsized("  " + moves.lines[i], width));
  for (const auto& qos : status.qos) {
    parts.qos.push_back(
        ellipsized(fmt::format("koordlet on {} ({} ago)", qos.node, ageText(qos.age)), width));
    for (const auto& line : qos.lines) append(parts.qos, wrapped("  " + line, width, 4));
  }
  return parts;
}

// The rows that fit; if there are more, the last is their count. `room` is at least 1.
Lines cut(const Lines& rows, std::size_t room, const char* what) {
  if (rows.size() <= room) return rows;
  Lines lines(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(room - 1));
  lines.push_back(fmt::format("... and {} more {}", rows.size() - lines.size(), what));
  return lines;
}

Lines cutWaiting(const std::vector<Lines>& waiting, std::size_t room) {
  std::size_t fits = 0;
  for (std::size_t used = 0; fits < waiting.size(); ++fits) {
    used += waiting[fits].size();
    const std::size_t count = fits + 1 < waiting.size() ? 1 : 0;  // the line that counts the rest
    if (used + count > room) break;
  }
  Lines lines;
  for (std::size_t i = 0; i < fits; ++i) append(lines, waiting[i]);
  if (fits < waiting.size() && room > 0)
    lines.push_back(fmt::format("  {} {} more waiting", fits > 0 ? "... and" : "there are",
                                waiting.size() - fits));
  return lines;
}

}  // namespace

std::vector<std::string> renderStatus(const ClusterStatus& status, int width, int height) {
  Parts parts = partsOf(status, width);
  const Lines rows(parts.nodes.begin() + 1, parts.nodes.end());
  std::size_t waitingLines = 0;
  for (const auto& one : parts.waiting) waitingLines += one.size();

  // Everything except the lists of nodes and of pending pods, which share the remaining rows.
  bool blanks = true;
  bool table = true;
  const auto fixed = [&] {
    const std::size_t components = table ? parts.components.size() : !parts.componentsLine.empty();
    const std::size_t gaps =
        blanks ? 2 + (components > 0) + !parts.qos.empty() + !parts.moves.empty() : 0;
    return parts.head.size() + components + gaps + 1 + parts.batch.size() + 1 + parts.moves.size() +
           parts.qos.size();
  };
  const auto limit = static_cast<std::size_t>(std::max(height, 0));
  const std::size_t least = std::min<std::size_t>(rows.size(), 2) +
                            (parts.waiting.empty() ? 0 : parts.waiting.front().size() + 1);
  if (limit > 0 && fixed() + least > limit) table = false;
  if (limit > 0 && fixed() + least > limit) blanks = false;
  const std::size_t room = limit == 0        ? rows.size() + waitingLines
                           : limit > fixed() ? limit - fixed()
                                             : 1;
  const std::size_t forWaiting =
      std::min(waitingLines, std::max(room - std::min(room, rows.size()), room / 2));

  Lines lines = parts.head;
  const auto gap = [&] {
    if (blanks) lines.emplace_back();
  };
  gap();
  if (!parts.components.empty()) {
    append(lines, table ? parts.components : Lines{parts.componentsLine});
    gap();
  }
  lines.push_back(parts.nodes.front());
  append(lines, cut(rows, std::max<std::size_t>(room - forWaiting, 1), "nodes"));
  append(lines, parts.batch);
  gap();
  lines.push_back(parts.pods);
  append(lines, cutWaiting(parts.waiting, forWaiting));
  if (!parts.moves.empty()) {
    gap();
    append(lines, parts.moves);
  }
  if (!parts.qos.empty()) {
    gap();
    append(lines, parts.qos);
  }
  if (limit > 0 && lines.size() > limit) {
    lines.resize(limit);
    lines.back() = "... the screen is too small for the rest";
  }
  for (auto& line : lines) line = ellipsized(inOneLine(std::move(line)), width);
  return lines;
}

std::string statusLine(const ClusterStatus& status) {
  std::size_t ready = 0;
  int ls = 0;
  int be = 0;
  std::int64_t cpuMilli = 0;
  std::int64_t memoryBytes = 0;
  for (const auto& node : status.nodes) {
    ready += node.ready ? 1 : 0;
    ls += node.lsPods;
    be += node.bePods;
    cpuMilli += node.batch.cpuMilli;
    memoryBytes += node.batch.memoryBytes;
  }
  std::string line =
      fmt::format("nodes {}/{} ready, batch {} cores {}, LS pods {}, BE pods {}", ready,
                  status.nodes.size(), cores(cpuMilli), bytesText(memoryBytes), ls, be);
  for (const auto& component : status.components)
    if (component.state != "leading" && component.state != "running")
      line += fmt::format(", {} {}", component.name, component.state);
  if (const Moves& moves = status.moves; !moves.lines.empty())
    line += fmt::format(", moves {} in progress {} done {} failed", moves.open, moves.done,
                        moves.failed);
  for (const auto& why : status.batch) line += "; " + why;
  for (const auto& qos : status.qos)
    if (!qos.lines.empty()) line += "; " + qos.lines.front();
  return inOneLine(std::move(line));
}

}  // namespace koord::cluster
