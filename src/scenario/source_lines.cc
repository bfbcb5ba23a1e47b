#include "scenario/source_lines.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <vector>

namespace koord::scenario {
namespace {

// Removes and returns the first name or index of a path.
std::string_view takePart(std::string_view& path) {
  const bool index = path.starts_with('[');
  const auto end = std::min(index ? path.find(']') : path.find_first_of(".["), path.size());
  const auto part = path.substr(0, index ? end + 1 : end);
  path.remove_prefix(std::min(part.size(), path.size()));
  if (path.starts_with('.')) path.remove_prefix(1);
  return part;
}

struct Place {
  YAML::Node node;
  int line;  // from 0

  // Assigning a node would change the document.
  void moveTo(const YAML::Node& next, int nextLine) {
    node.reset(next);
    line = nextLine;
  }
};

// The member of a map begins at its key.
bool enter(Place& place, std::string_view part) {
  if (part.starts_with('[')) {
    std::size_t index = 0;
    std::from_chars(part.data() + 1, part.data() + part.size(), index);
    if (!place.node.IsSequence() || index >= place.node.size()) return false;
    const YAML::Node item = place.node[index];
    place.moveTo(item, item.Mark().line);
    return true;
  }
  if (!place.node.IsMap()) return false;
  for (const auto& member : place.node) {
    if (!member.first.IsScalar() || member.first.Scalar() != part) continue;
    const YAML::Node value = member.second;
    place.moveTo(value, member.first.Mark().line);
    return true;
  }
  return false;
}

}  // namespace

struct SourceLines::Impl {
  std::vector<YAML::Node> documents;
};

SourceLines::SourceLines(std::string_view yaml) {
  auto impl = std::make_unique<Impl>();
  try {
    for (const auto& document : YAML::LoadAll(std::string(yaml))) {
      if (document.IsDefined() && !document.IsNull()) impl->documents.push_back(document);
    }
  } catch (const YAML::Exception&) {
    impl->documents.clear();
  }
  impl_ = std::move(impl);
}

SourceLines::~SourceLines() = default;

int SourceLines::lineOf(std::size_t document, std::string_view field) const {
  if (document >= impl_->documents.size()) return 0;
  const YAML::Node& root = impl_->documents[document];
  Place place{root, root.Mark().line};
  while (!field.empty() && enter(place, takePart(field))) {
  }
  return place.line + 1;
}

}  // namespace koord::scenario
