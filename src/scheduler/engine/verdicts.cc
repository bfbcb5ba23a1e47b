#include "scheduler/engine/verdicts.h"

#include <algorithm>
#include <functional>

namespace koord::scheduler {

std::string_view nameOf(Code code) {
  switch (code) {
    case Code::Success:
      return "Success";
    case Code::Error:
      return "Error";
    case Code::Unschedulable:
      return "Unschedulable";
    case Code::UnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::Wait:
      return "Wait";
    case Code::Skip:
      return "Skip";
    case Code::Pending:
      return "Pending";
  }
  return "Unknown";
}

void Verdicts::clear(std::size_t capacity) {
  byNode_.assign(capacity);
  rejections_.assign(1, Rejection{0, Code::Success, {}});
  counts_.assign(1, 0);
  ids_.clear();
}

void Verdicts::reserve(std::size_t capacity) {
  if (byNode_.size() < capacity) byNode_.resize(capacity);
}

VerdictId Verdicts::intern(Rejection rejection) {
  std::size_t hash = rejection.plugin * 31u + static_cast<std::size_t>(rejection.code);
  for (const auto& reason : rejection.reasons)
    hash = hash * 1000003u ^ std::hash<std::string>{}(reason);
  for (auto [it, end] = ids_.equal_range(hash); it != end; ++it)
    if (rejections_[it->second] == rejection) return it->second;
  const auto id = static_cast<VerdictId>(rejections_.size());
  rejections_.push_back(std::move(rejection));
  counts_.push_back(0);
  ids_.emplace(hash, id);
  return id;
}

void Verdicts::pass(const NodeSet& nodes) {
  if (rejections_.size() == 1) return;  // no node was ever rejected
  byNode_.read([&](const auto& verdicts) {
    nodes.forEach([&](NodeId node) {
      if (verdicts[node] != kPasses) set(node, kPasses);
    });
  });
}

void Verdicts::set(NodeId node, VerdictId verdict) {
  const VerdictId before = at(node);
  if (before == verdict) return;
  if (before != kPasses) --counts_[before];
  if (verdict != kPasses) ++counts_[verdict];
  byNode_.set(node, verdict);
}

std::vector<NodeId> Verdicts::nodesWith(Code code, const NodeSet& among) const {
  std::vector<std::uint8_t> wanted(rejections_.size());
  std::ranges::transform(rejections_, wanted.begin(),
                         [&](const Rejection& each) { return each.code == code ? 1 : 0; });
  std::vector<NodeId> nodes;
  nodes.reserve(among.size());
  byNode_.read([&](const auto& verdicts) {
    among.forEach([&](NodeId node) {
      if (wanted[static_cast<std::size_t>(verdicts[node])] != 0) nodes.push_back(node);
    });
  });
  return nodes;
}

}  // namespace koord::scheduler
