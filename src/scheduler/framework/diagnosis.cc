#include "scheduler/framework/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace koord::scheduler {

Code Diagnosis::codeOf(NodeId node) const {
  if (preFilter.rejected()) return preFilter.code;
  if (absent.contains(node)) return absentStatus.code;
  if (declined.contains(node)) return declinedStatus.code;
  if (!verdicts) return Code::UnschedulableAndUnresolvable;
  return verdicts->rejection(verdicts->at(node)).code;
}

std::vector<NodeId> Diagnosis::nodesWith(Code code, const NodeSet& among) const {
  if (!preFilter.rejected() && absent.empty() && declined.empty() && verdicts)
    return verdicts->nodesWith(code, among);
  std::vector<NodeId> nodes;
  among.forEach([&](NodeId node) {
    if (codeOf(node) == code) nodes.push_back(node);
  });
  return nodes;
}

std::vector<Diagnosis::Entry> Diagnosis::entries() const {
  std::vector<Entry> entries;
  if (preFilter.rejected()) {
    entries.push_back({preFilter.plugin(), preFilter.code, preFilter.reasons(), totalNodes});
    return entries;
  }
  if (verdicts) {
    for (VerdictId id = 1; id < verdicts->size(); ++id) {
      if (verdicts->count(id) == 0) continue;
      const Rejection& rejection = verdicts->rejection(id);
      entries.push_back({filterPlugins[rejection.plugin], rejection.code, rejection.reasons,
                         verdicts->count(id)});
    }
  }
  for (const auto& [nodes, status] :
       {std::pair(&absent, &absentStatus), {&declined, &declinedStatus}})
    if (!nodes->empty())
      entries.push_back({status->plugin(), status->code, status->reasons(), nodes->size()});
  return entries;
}

void Diagnosis::keepVerdicts() {
  if (!verdicts || kept_.get() == verdicts) return;
  kept_ = std::make_shared<const Verdicts>(*verdicts);
  verdicts = kept_.get();
}

void Diagnosis::notePlugin(const std::string& plugin, Code code) {
  if (plugin.empty()) return;
  (code == Code::Pending ? pendingPlugins : unschedulablePlugins).insert(plugin);
}

std::string reasonsText(std::vector<std::pair<std::string, std::size_t>> counts) {
  std::map<std::string, std::size_t> sums;
  for (auto& [reason, count] : counts) sums[reason] += count;
  std::vector<std::string> texts;
  for (const auto& [reason, count] : sums) texts.push_back(fmt::format("{} {}", count, reason));
  std::ranges::sort(texts);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string Diagnosis::message() const {
  std::string text = fmt::format("0/{} nodes are available:", totalNodes);
  if (preFilter.rejected()) {
    text += fmt::format(" {}.", preFilter.message());
  } else {
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (const Entry& entry : entries())
      for (const auto& reason : entry.reasons) counts.emplace_back(reason, entry.nodes);
    if (!counts.empty()) text += fmt::format(" {}.", reasonsText(std::move(counts)));
  }
  if (!postFilterMessage.empty()) text += " " + postFilterMessage;
  return text;
}

}  // namespace koord::scheduler
