#include "api/patch/field_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace koord::api {
namespace {

constexpr std::string_view kPrefixes = "fkvi";
constexpr std::size_t kMaxPathBytes = 1 << 20;  // of all paths together

void appendQuoted(std::string& out, std::string_view text) {
  bool plain = true, control = false;  // without branches: nearly every text is
  for (const char c : text) {
    control |= static_cast<unsigned char>(c) < 0x20;
    plain &= (c != '"') & (c != '\\');
  }
  if (control) {
    const auto quoted = toJson(json::value(json::string_view(text)));
    out.append(quoted, 1, quoted.size() - 2);
  } else if (plain) {
    out += text;
  } else {
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
}

// `member`: the node is in the set, too.
void appendNode(std::string& out, const FieldSet& below, bool member) {
  out += '{';
  bool first = true;
  if (member && !below.empty()) {
    out += "\".\":{}";
    first = false;
  }
  for (const auto& node : below.nodes()) {
    if (!first) out += ',';
    first = false;
    appendElement(out, node.element.kind, node.element.text);
    out += ':';
    appendNode(out, node.children, node.member);
  }
  out += '}';
}

std::string shown(const PathElement& element) {
  switch (element.kind) {
    case PathElement::Kind::Field:
      return "." + element.text;
    case PathElement::Kind::Value:
      return fmt::format("[={}]", element.text);
    case PathElement::Kind::Index:
      return fmt::format("[{}]", element.text);
    case PathElement::Kind::Key:
      break;
  }
  const auto keys = parseJson(element.text);
  if (!keys || !keys->is_object()) return fmt::format("[{}]", element.text);
  std::string out = "[";
  for (const auto& key : keys->get_object()) {
    if (out.size() > 1) out += ',';
    out += std::string_view(key.key());
    out += '=';
    out += toJson(key.value());
  }
  return out + "]";
}

// False when there was no room for more. Every path repeats those above it, so that a long name
// with many fields would become far more text than what came in.
bool collect(const FieldSet& set, const std::string& path, std::size_t& room,
             std::vector<std::string>& out) {
  for (const auto& node : set.nodes()) {
    const auto here = path + shown(node.element);
    if (here.size() > room) {
      if (out.empty()) out.push_back(shortened(here, room));
      return false;
    }
    room -= here.size();
    if (node.member) out.push_back(here);
    if (!collect(node.children, here, room, out)) return false;
  }
  return true;
}

Result<PathElement> parseElement(std::string_view text) {
  const auto kind =
      text.size() < 2 || text[1] != ':' ? std::string_view::npos : kPrefixes.find(text.front());
  if (kind == std::string_view::npos)
    return fail(ErrorCode::BadRequest, fmt::format("\"{}\" is not a path element", text));
  PathElement element{static_cast<PathElement::Kind>(kind), std::string(text.substr(2))};
  if (element.kind == PathElement::Kind::Field) return element;
  auto value = parseJson(element.text);
  if (!value) return fail(std::move(value.error()).within(text));
  if (element.kind == PathElement::Kind::Key) {
    if (!value->is_object())
      return fail(ErrorCode::BadRequest, fmt::format("\"{}\": keys must be an object", text));
    // One way to write it, so that texts can be compared.
    std::vector<std::pair<std::string, json::value>> keys;
    for (const auto& key : value->get_object()) keys.emplace_back(key.key(), key.value());
    std::ranges::sort(keys, {}, &std::pair<std::string, json::value>::first);
    json::object sorted;
    for (auto& [name, key] : keys) sorted.emplace(name, std::move(key));
    *value = std::move(sorted);
  }
  element.text = toJson(*value);
  return element;
}

}  // namespace

void FieldSet::reserve(std::size_t count) {
  nodes_.reserve(count);
}

FieldNode& FieldSet::at(PathElement element) {
  if (nodes_.empty() || nodes_.back().element < element)
    return nodes_.emplace_back(FieldNode{std::move(element), false, {}});
  const auto it = std::ranges::lower_bound(nodes_, element, {}, &FieldNode::element);
  if (it->element == element) return *it;
  return *nodes_.insert(it, FieldNode{std::move(element), false, {}});
}

const FieldNode* FieldSet::find(const PathElement& element) const {
  const auto it = std::ranges::lower_bound(nodes_, element, {}, &FieldNode::element);
  return it != nodes_.end() && it->element == element ? &*it : nullptr;
}

bool FieldSet::operator==(const FieldSet& other) const {
  return nodes_ == other.nodes_;
}

FieldSet FieldSet::of(std::vector<FieldNode> nodes) {
  std::ranges::stable_sort(nodes, {}, &FieldNode::element);
  FieldSet out;
  out.nodes_.reserve(nodes.size());
  for (auto& node : nodes) {
    if (out.nodes_.empty() || out.nodes_.back().element != node.element) {
      out.nodes_.push_back(std::move(node));
      continue;
    }
    auto& same = out.nodes_.back();
    same.member = same.member || node.member;
    same.children = unite(std::move(same.children), node.children);
  }
  return out;
}

// What b alone has is moved in from the end, all of it in one walk: one by one, each would move
// everything behind it.
FieldSet unite(FieldSet a, const FieldSet& b) {
  std::vector<const FieldNode*> fresh;
  for (const auto& node : b.nodes_) {
    auto* mine = const_cast<FieldNode*>(a.find(node.element));  // of `a`, which is ours
    if (!mine) {
      fresh.push_back(&node);
      continue;
    }
    mine->member = mine->member || node.member;
    mine->children = unite(std::move(mine->children), node.children);
  }
  if (fresh.empty()) return a;
  auto at = a.nodes_.size();
  a.nodes_.resize(at + fresh.size());
  for (auto to = a.nodes_.size(); !fresh.empty();) {
    if (at > 0 && fresh.back()->element < a.nodes_[at - 1].element) {
      a.nodes_[--to] = std::move(a.nodes_[--at]);
    } else {
      a.nodes_[--to] = *fresh.back();
      fresh.pop_back();
    }
  }
  return a;
}

FieldSet uniteAll(std::vector<FieldSet> sets) {
  if (sets.empty()) return {};
  for (std::size_t apart = 1; apart < sets.size(); apart *= 2)
    for (std::size_t i = 0; i + apart < sets.size(); i += 2 * apart)
      sets[i] = unite(std::move(sets[i]), sets[i + apart]);
  return std::move(sets.front());
}

FieldSet subtract(FieldSet a, const FieldSet& b) {
  std::erase_if(a.nodes_, [&](FieldNode& node) {
    if (const auto* other = b.find(node.element)) {
      node.member = node.member && !other->member;
      node.children = subtract(std::move(node.children), other->children);
    }
    return !node.member && node.children.empty();
  });
  return a;
}

FieldSet subtractBelow(FieldSet a, const FieldSet& b) {
  std::erase_if(a.nodes_, [&](FieldNode& node) {
    const auto* other = b.find(node.element);
    if (!other) return false;
    if (other->member) return true;
    node.children = subtractBelow(std::move(node.children), other->children);
    return !node.member && node.children.empty();
  });
  return a;
}

FieldSet intersect(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  for (const auto& node : a.nodes_) {
    const auto* other = b.find(node.element);
    if (!other) continue;
    FieldNode both{node.element, node.member && other->member,
                   intersect(node.children, other->children)};
    if (both.member || !both.children.empty()) out.nodes_.push_back(std::move(both));
  }
  return out;
}

FieldSet fieldSetOf(std::initializer_list<std::string_view> names) {
  FieldSet out;
  FieldSet* level = &out;
  FieldNode* node = nullptr;
  for (const auto name : names) {
    node = &level->at({PathElement::Kind::Field, std::string(name)});
    level = &node->children;
  }
  if (node) node->member = true;
  return out;
}

std::vector<std::string> pathsOf(const FieldSet& set) {
  std::vector<std::string> out;
  std::size_t room = kMaxPathBytes;
  collect(set, "", room, out);
  return out;
}

void appendElement(std::string& out, PathElement::Kind kind, std::string_view text) {
  out += '"';
  out += kPrefixes[static_cast<std::size_t>(kind)];
  out += ':';
  appendQuoted(out, text);
  out += '"';
}

void appendText(std::string& out, const FieldSet& set) {
  appendNode(out, set, false);
}

Result<FieldSet> parseFieldSet(const json::value& fields) {
  if (!fields.is_object())
    return fail(ErrorCode::BadRequest, "expected an object, got " + shortened(toJson(fields), 60));
  std::vector<FieldNode> nodes;
  nodes.reserve(fields.get_object().size());
  for (const auto& member : fields.get_object()) {
    if (member.key() == ".") continue;  // of the node above
    auto element = parseElement(member.key());
    if (!element) return fail(std::move(element.error()));
    auto children = parseFieldSet(member.value());
    if (!children) return children;
    const auto& below = member.value().get_object();
    nodes.push_back(
        {*std::move(element), below.empty() || below.contains("."), *std::move(children)});
  }
  return FieldSet::of(std::move(nodes));
}

}  // namespace koord::api
