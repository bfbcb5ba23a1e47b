#include "scheduler/core/group_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace koord::scheduler {

GroupSearch::GroupSearch(World& world, const NodeSet& nodes, std::size_t members,
                         std::size_t maxSteps)
    : world_(world), nodes_(nodes), maxSteps_(maxSteps), order_(members) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

GroupSearch::World::Found GroupSearch::tryPlace(std::size_t member, const NodeSet& nodes) {
  ++steps_;
  return world_.place(member, nodes);
}

bool GroupSearch::run() {
  if (!orderMembers()) return false;
  while (frames_.size() < order_.size()) {
    if (exhausted()) {
      while (!frames_.empty()) (void)undoLast();
      return false;
    }
    if (!extend() && !backtrack()) return false;
  }
  return true;
}

// Places as many members of one kind as fit without the others, and reverts that. They are alike,
// so any order takes as many.
std::size_t GroupSearch::countAlone(std::span<const std::size_t> kind, std::size_t& choices) {
  std::size_t count = 0;
  while (count < kind.size()) {
    const World::Found found = tryPlace(kind[count], nodes_);
    if (count == 0) choices = found.choices;
    if (found.node == kNoNode) break;
    ++count;
  }
  for (std::size_t i = count; i-- > 0;) world_.undo(kind[i]);
  return count;
}

// Sorts the members. False: too few members of a kind fit, even without the others.
bool GroupSearch::orderMembers() {
  std::map<std::uint64_t, std::vector<std::size_t>> kinds;
  for (const std::size_t member : order_) kinds[world_.demandOf(member)].push_back(member);
  struct Rank {
    bool late = false;
    std::size_t choices = 0;
    double size = 0;
    std::size_t kind = 0;  // the number of its first member
  };
  std::vector<Rank> ranks(order_.size());
  for (const auto& [demand, kind] : kinds) {
    const std::size_t first = kind.front();
    Rank rank{world_.needsOthers(first), 0, world_.sizeOf(first), first};
    if (!rank.late) {
      const std::size_t fit = countAlone(kind, rank.choices);
      if (fit < kind.size() && !world_.canDoWithout(std::span(kind).subspan(fit))) return false;
    }
    for (const std::size_t member : kind) ranks[member] = rank;
  }
  std::ranges::stable_sort(order_, {}, [&](std::size_t member) {
    const Rank& rank = ranks[member];
    return std::tuple(rank.late, rank.choices, -rank.size, rank.kind);
  });
  return true;
}

bool GroupSearch::extend() {
  Frame frame;
  frame.member = order_[frames_.size()];
  if (!frames_.empty()) {
    const Frame& before = frames_.back();
    if (world_.demandOf(before.member) == world_.demandOf(frame.member)) {
      frame.tried = before.tried;
      if (before.node != kNoNode) frame.tried.erase(before.node);
    }
  }
  return decide(std::move(frame));
}

// Takes the best node that was not tried, or leaves the member out.
bool GroupSearch::decide(Frame frame) {
  NodeSet left = nodes_;
  left.subtract(frame.tried);
  frame.node = left.empty() ? kNoNode : tryPlace(frame.member, left).node;
  if (frame.node != kNoNode) {
    frame.tried.insert(frame.node);
  } else if (canLeaveOut(frame.member)) {
    leftOut_.push_back(frame.member);
  } else {
    return false;
  }
  frames_.push_back(std::move(frame));
  return true;
}

bool GroupSearch::canLeaveOut(std::size_t member) {
  leftOut_.push_back(member);
  const bool can = world_.canDoWithout(leftOut_);
  leftOut_.pop_back();
  return can;
}

// Whether enough members of the kind fit beside what is placed. None of them must be.
bool GroupSearch::kindFits(std::uint64_t demand) {
  std::vector<std::size_t> kind;
  for (const std::size_t member : order_)
    if (world_.demandOf(member) == demand) kind.push_back(member);
  std::size_t choices = 0;
  const std::size_t fit = countAlone(kind, choices);
  if (fit == kind.size()) return true;
  std::vector<std::size_t> without = leftOut_;
  without.insert(without.end(), kind.begin() + static_cast<std::ptrdiff_t>(fit), kind.end());
  return world_.canDoWithout(without);
}

GroupSearch::Frame GroupSearch::undoLast() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (frame.node == kNoNode) {
    leftOut_.pop_back();
  } else {
    world_.undo(frame.member);
  }
  return frame;
}

bool GroupSearch::backtrack() {
  const std::size_t failed = order_[frames_.size()];
  const std::uint64_t demand = world_.demandOf(failed);
  bool jumps = !world_.needsOthers(failed);
  // Members of its kind come right before it. Other nodes for them make no room for one more.
  while (jumps && !frames_.empty() && world_.demandOf(frames_.back().member) == demand)
    (void)undoLast();
  while (!frames_.empty() && !exhausted()) {
    Frame frame = undoLast();
    if (jumps && !kindFits(demand)) continue;
    jumps = false;
    if (frame.node != kNoNode && decide(std::move(frame))) return true;
  }
  while (!frames_.empty()) (void)undoLast();
  return false;
}

}  // namespace koord::scheduler
