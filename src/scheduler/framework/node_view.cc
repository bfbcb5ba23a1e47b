#include "scheduler/framework/node_view.h"

namespace koord::scheduler {

const NodeCredit* NodeView::find(NodeId node) const {
  const auto it = credits_.find(node);
  return it == credits_.end() ? nullptr : &it->second;
}

void NodeView::set(NodeId node, NodeCredit credit) {
  credits_[node] = std::move(credit);
}

void NodeView::erase(NodeId node) {
  credits_.erase(node);
}

void NodeView::erase(const NodeSet& nodes) {
  if (credits_.empty()) return;
  if (nodes.smallerThan(credits_.size())) {
    nodes.forEach([&](NodeId node) { credits_.erase(node); });
  } else {
    boost::unordered::erase_if(credits_,
                               [&](const auto& each) { return nodes.contains(each.first); });
  }
}

}  // namespace koord::scheduler
