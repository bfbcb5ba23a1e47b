#include "scheduler/oracle/question.h"

#include <fmt/format.h>

#include <set>

#include "api/names.h"

namespace koord::scheduler::oracle {

namespace {

constexpr int kMaxListDepth = 4;

std::unexpected<Error> wrong(const std::string& path, std::string_view why) {
  return fail(ErrorCode::Invalid, fmt::format("{}: {}", path, why));
}

// The list at this path; nullptr if there is none.
Result<const json::array*> listAt(const json::value& spec, const char* name, std::size_t limit) {
  const json::value* list = find(spec, name);
  const std::string path = std::string("spec.") + name;
  if (!list || list->is_null()) return nullptr;
  if (!list->is_array()) return wrong(path, "must be a list");
  if (list->get_array().size() > limit)
    return wrong(path, fmt::format("must have at most {} items", limit));
  return &list->get_array();
}

Result<> addObject(Question& question, std::string path, const json::value& document, int depth) {
  if (!document.is_object()) return wrong(path, "must be an object");
  const std::string_view version = textAt(document, "apiVersion");
  const std::string_view kind = textAt(document, "kind");
  if (version.empty()) return wrong(path + ".apiVersion", "is required");
  if (kind.empty()) return wrong(path + ".kind", "is required");
  if (kind.ends_with("List")) {
    const json::value* items = find(document, "items");
    if (!items || !items->is_array()) return wrong(path + ".items", "must be a list");
    if (depth >= kMaxListDepth) return wrong(path, "lists are nested too deeply");
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
      auto added = addObject(question, fmt::format("{}.items[{}]", path, i), items->get_array()[i],
                             depth + 1);
      if (!added) return added;
    }
    return {};
  }
  if (question.objects.size() >= kMaxObjects)
    return wrong("spec.objects", fmt::format("must have at most {} items", kMaxObjects));
  question.objects.push_back({.path = std::move(path),
                              .group = std::string(groupOf(version)),
                              .kind = std::string(kind),
                              .namespace_ = std::string(textAt(document, "metadata", "namespace")),
                              .document = document});
  return {};
}

Result<NewNodes> shapeAt(const std::string& path, const json::value& entry) {
  NewNodes nodes{.path = path, .like = std::string(textAt(entry, "like")), .node = {}};
  if (const json::value* node = find(entry, "node")) nodes.node = *node;
  if (nodes.like.empty() == nodes.node.is_null())
    return wrong(path, "must have either \"like\", the name of a node, or \"node\", a Node");
  if (!nodes.node.is_null() && !nodes.node.is_object())
    return wrong(path + ".node", "must be an object");
  return nodes;
}

Result<> addNodes(Question& question, const std::string& path, const json::value& entry,
                  std::int64_t& total) {
  auto nodes = shapeAt(path, entry);
  if (!nodes) return fail(std::move(nodes.error()));
  if (const json::value* count = find(entry, "count")) {
    const auto number = wholeNumber(*count);
    if (!number || *number < 0) return wrong(path + ".count", "must be a number from 0");
    nodes->count = *number;
  }
  if (nodes->count > kMaxNewNodes || (total += nodes->count) > kMaxNewNodes)
    return wrong("spec.addNodes", fmt::format("at most {} nodes can be added", kMaxNewNodes));
  question.addNodes.push_back(*std::move(nodes));
  return {};
}

// The parts of a question about amounts, after the other parts.
Result<> readAmounts(const json::value& spec, Question& question) {
  const json::value& fill = memberOf(spec, "fill");
  if (!fill.is_null()) {
    if (!fill.is_object()) return wrong("spec.fill", "must be an object");
    question.fill = std::string(textAt(fill, "pools"));
    if (const std::string bad =
            question.fill->empty() ? "" : api::checkQualifiedName(*question.fill);
        !bad.empty())
      return wrong("spec.fill.pools",
                   fmt::format("\"{}\" is not a label: {}", *question.fill, bad));
  }
  auto when = readStarts(memberOf(spec, "when"));
  if (!when) return fail(std::move(when.error()));
  question.when = *std::move(when);
  if (question.fill && question.when)
    return wrong("spec.when", "cannot be asked together with spec.fill");
  const json::value& shape = memberOf(spec, "nodesFor");
  if (shape.is_null()) return {};
  if (question.fill || question.when)
    return wrong("spec.nodesFor", "cannot be asked together with spec.fill or spec.when");
  if (!question.addNodes.empty() || !question.drainNodes.empty() || !question.loseNodes.empty())
    return wrong("spec.nodesFor",
                 "has no other nodes: addNodes, drainNodes, loseNodes must be empty");
  auto nodes = shapeAt("spec.nodesFor", shape);
  if (!nodes) return fail(std::move(nodes.error()));
  question.nodesFor = *std::move(nodes);
  return {};
}

// `seen`: the nodes of both lists. A node that is there twice would lose its pods twice.
Result<> readNames(const json::value& spec, const char* name, std::vector<std::string>& names,
                   std::set<std::string>& seen) {
  auto list = listAt(spec, name, kMaxChangedNodes);
  if (!list) return fail(std::move(list.error()));
  if (!*list) return {};
  for (std::size_t i = 0; i < (*list)->size(); ++i) {
    const json::value& entry = (**list)[i];
    if (!entry.is_string() || entry.get_string().empty())
      return wrong(fmt::format("spec.{}[{}]", name, i), "must be the name of a node");
    // It becomes a part of a field selector.
    if (const std::string bad = api::checkDnsSubdomain(entry.get_string()); !bad.empty())
      return wrong(fmt::format("spec.{}[{}]", name, i),
                   fmt::format("\"{}\" is not the name of a node: {}",
                               std::string_view(entry.get_string()), bad));
    if (!seen.emplace(entry.get_string()).second)
      return wrong(fmt::format("spec.{}[{}]", name, i),
                   fmt::format("node \"{}\" occurs twice", std::string_view(entry.get_string())));
    names.emplace_back(entry.get_string());
  }
  return {};
}

Result<> checkFields(const json::value& spec) {
  for (const auto& member : spec.get_object()) {
    const std::string_view name = member.key();
    if (name != "objects" && name != "addNodes" && name != "drainNodes" && name != "loseNodes" &&
        name != "configuration" && name != "fill" && name != "nodesFor" && name != "when")
      return wrong(fmt::format("spec.{}", name), "unknown field");
  }
  return {};
}

}  // namespace

std::string namespaceOf(const QuestionObject& object) {
  return object.namespace_.empty() ? "default" : object.namespace_;
}

std::string_view groupOf(std::string_view apiVersion) {
  const auto slash = apiVersion.find('/');
  return slash == apiVersion.npos ? std::string_view() : apiVersion.substr(0, slash);
}

json::value simulationOf(json::value spec) {
  return json::object{
      {"apiVersion", kSimulationVersion}, {"kind", kSimulationKind}, {"spec", std::move(spec)}};
}

Result<Question> readQuestion(const json::value& document) {
  if (!document.is_object()) return fail(ErrorCode::Invalid, "must be an object");
  if (textAt(document, "apiVersion") != kSimulationVersion)
    return wrong("apiVersion", fmt::format("must be {}", kSimulationVersion));
  if (textAt(document, "kind") != kSimulationKind)
    return wrong("kind", fmt::format("must be {}", kSimulationKind));
  const json::value* spec = find(document, "spec");
  if (!spec || !spec->is_object()) return wrong("spec", "must be an object");
  if (auto known = checkFields(*spec); !known) return fail(std::move(known.error()));
  Question question;
  const auto objects = listAt(*spec, "objects", kMaxObjects);
  if (!objects) return fail(Error(objects.error()));
  for (std::size_t i = 0; *objects && i < (*objects)->size(); ++i)
    if (auto added = addObject(question, fmt::format("spec.objects[{}]", i), (**objects)[i], 0);
        !added)
      return fail(std::move(added.error()));
  const auto nodes = listAt(*spec, "addNodes", kMaxObjects);
  if (!nodes) return fail(Error(nodes.error()));
  std::int64_t total = 0;
  for (std::size_t i = 0; *nodes && i < (*nodes)->size(); ++i)
    if (auto added = addNodes(question, fmt::format("spec.addNodes[{}]", i), (**nodes)[i], total);
        !added)
      return fail(std::move(added.error()));
  std::set<std::string> seen;
  if (auto read = readNames(*spec, "drainNodes", question.drainNodes, seen); !read)
    return fail(std::move(read.error()));
  if (auto read = readNames(*spec, "loseNodes", question.loseNodes, seen); !read)
    return fail(std::move(read.error()));
  if (const json::value* configuration = find(*spec, "configuration")) {
    if (!configuration->is_object() && !configuration->is_null())
      return wrong("spec.configuration", "must be an object");
    question.configuration = *configuration;
  }
  if (auto read = readAmounts(*spec, question); !read) return fail(std::move(read.error()));
  return question;
}

}  // namespace koord::scheduler::oracle
