#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/yaml_scalar.h"

namespace koord {
namespace {

[[noreturn]] void reject(const YAML::Mark& mark, const std::string& why) {
  throw YAML::ParserException(mark, why);
}

// What a copy of the value costs, see kMaxYamlCopyBytes.
std::size_t copyBytes(const json::value& value) {
  std::size_t bytes = kYamlNodeBytes;
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) bytes += member.key().size() + copyBytes(member.value());
  } else if (const auto* array = value.if_array()) {
    for (const auto& item : *array) bytes += copyBytes(item);
  } else if (const auto* text = value.if_string()) {
    bytes += text->size();
  }
  return bytes;
}

// Builds the documents from the parser's events. Errors leave as YAML::ParserException and are
// caught in parse() below.
class Builder final : public YAML::EventHandler {
 public:
  std::vector<json::value> documents;

  void OnDocumentStart(const YAML::Mark& mark) override {
    // What no document can begin with, the parser does not take but offers again and again.
    if (mark.pos == lastStart_) reject(mark, "no document can begin here");
    lastStart_ = mark.pos;
    anchors_.clear();
    root_ = nullptr;
  }
  void OnDocumentEnd() override {
    if (!root_.is_null()) documents.push_back(std::move(root_));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (awaitsKey()) reject(mark, "a key must not be null");
    put(mark, nullptr, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) reject(mark, "an alias must not refer to what contains it");
    countCopy(mark, it->second.bytes);
    if (awaitsKey()) {
      if (!it->second.value.is_string()) reject(mark, "a key must be text");
      putKey(mark, std::string(it->second.value.get_string()), false);
      return;
    }
    if (stack_.size() + it->second.depth > kMaxYamlDepth) reject(mark, "nested too deeply");
    countUp(mark, it->second.nodes);
    put(mark, it->second.value, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    // yaml-cpp makes single bytes of these escapes.
    if (!isUtf8(text)) reject(mark, "the escapes \\_ and \\N are not supported");
    if (awaitsKey()) {
      if (anchor != 0) keep(mark, anchor, json::string(text), 1, 1);
      const bool plain = tag == "?";
      putKey(mark, plain ? plainKey(text) : text, plain && text == "<<");
      return;
    }
    auto value = typedScalar(tag, text);
    if (!value) reject(mark, value.error().message);
    put(mark, *std::move(value), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    checkContainerTag(mark, tag, "tag:yaml.org,2002:seq");
    push(mark, json::array(), anchor);
  }
  void OnSequenceEnd() override { pop(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    checkContainerTag(mark, tag, "tag:yaml.org,2002:map");
    push(mark, json::object(), anchor);
  }
  void OnMapEnd() override { pop(); }

 private:
  struct Anchor {
    json::value value;
    std::size_t nodes = 1;
    std::size_t depth = 1;
    std::size_t bytes = 0;
  };
  struct Frame {
    YAML::Mark mark;
    json::value value;
    YAML::anchor_t anchor;
    std::string key;
    bool hasKey = false;
    bool merging = false;             // the value to come is that of "<<"
    std::vector<json::value> merged;  // maps to merge in at the end, most important first
    std::size_t startNodes = 0;
    std::size_t depth = 1;
  };

  bool awaitsKey() const {
    return !stack_.empty() && stack_.back().value.is_object() && !stack_.back().hasKey;
  }
  void countUp(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kMaxYamlNodes) reject(mark, "too many values (aliases count every time)");
  }
  void countCopy(const YAML::Mark& mark, std::size_t bytes) {
    copied_ += bytes;
    if (copied_ > kMaxYamlCopyBytes)
      reject(mark,
             fmt::format("anchors and aliases copy more than {} MiB", kMaxYamlCopyBytes >> 20));
  }
  // Charged before the copy is made, and before the next walk.
  void keep(const YAML::Mark& mark, YAML::anchor_t anchor, const json::value& value,
            std::size_t nodes, std::size_t depth) {
    const std::size_t bytes = copyBytes(value);
    countCopy(mark, bytes);
    anchors_[anchor] = {value, nodes, depth, bytes};
  }
  // Keys are typed like values, and then become text again.
  static std::string plainKey(const std::string& text) {
    const auto value = plainScalar(text);
    if (!value || value->is_double() || value->is_null() || value->is_string()) return text;
    return toJson(*value);
  }
  static void checkContainerTag(const YAML::Mark& mark, const std::string& tag,
                                std::string_view expected) {
    if (!tag.empty() && tag != "?" && tag != "!" && tag != expected) {
      reject(mark, fmt::format("unsupported tag {}", tag));
    }
  }

  void push(const YAML::Mark& mark, json::value empty, YAML::anchor_t anchor) {
    if (awaitsKey()) reject(mark, "a key must be text");
    if (stack_.size() >= kMaxYamlDepth) reject(mark, "nested too deeply");
    Frame frame{mark, std::move(empty), anchor, {}, false, false, {}, nodes_, 1};
    countUp(mark, 1);
    stack_.push_back(std::move(frame));
  }

  void pop() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    for (auto& source : frame.merged) {
      for (auto& member : source.get_object()) {
        auto& target = frame.value.get_object();
        if (!target.contains(member.key())) target.emplace(member.key(), member.value());
      }
    }
    if (frame.anchor != 0)
      keep(frame.mark, frame.anchor, frame.value, nodes_ - frame.startNodes, frame.depth);
    if (!stack_.empty()) stack_.back().depth = std::max(stack_.back().depth, frame.depth + 1);
    put(frame.mark, std::move(frame.value), 0);
  }

  void putKey(const YAML::Mark& mark, const std::string& key, bool merge) {
    Frame& top = stack_.back();
    if (!merge && top.value.get_object().contains(key)) {
      reject(mark, fmt::format("duplicate key \"{}\"", key));
    }
    top.key = key;
    top.hasKey = true;
    top.merging = merge;
  }

  void put(const YAML::Mark& mark, json::value value, YAML::anchor_t anchor) {
    if (!value.is_structured()) countUp(mark, 1);
    if (anchor != 0) keep(mark, anchor, value, 1, 1);
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& top = stack_.back();
    if (auto* array = top.value.if_array()) {
      array->push_back(std::move(value));
      return;
    }
    top.hasKey = false;
    if (!top.merging) {
      top.value.get_object().emplace(top.key, std::move(value));
      return;
    }
    if (value.is_object()) {
      top.merged.push_back(std::move(value));
      return;
    }
    const auto* maps = value.if_array();
    for (std::size_t i = 0; maps && i < maps->size(); ++i) {
      if (!(*maps)[i].is_object()) maps = nullptr;
    }
    if (!maps) reject(mark, "\"<<\" takes a map or a list of maps");
    for (const auto& map : *maps) top.merged.push_back(map);
  }

  int lastStart_ = -1;  // of a document
  json::value root_;
  std::vector<Frame> stack_;
  std::unordered_map<YAML::anchor_t, Anchor> anchors_;
  std::size_t nodes_ = 0;
  std::size_t copied_ = 0;  // bytes that anchors and aliases copied
};

bool isAllowed(char32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0x7f) ||
         code == 0x85 || (code >= 0xa0 && code < 0xd800) || (code >= 0xe000 && code < 0xfffe) ||
         (code >= 0x10000 && code < 0x110000);
}

// YAML is text without control characters.
Result<> checkCharacters(std::string_view text) {
  std::size_t line = 1, column = 1;
  while (!text.empty()) {
    const Utf8Character next = utf8CharacterAt(text);
    if (next.length == 0 || !isAllowed(next.code)) {
      return fail(ErrorCode::BadRequest,
                  fmt::format("not valid YAML: line {} column {}: {}", line, column,
                              next.length == 0 ? "not valid UTF-8" : "a control character"));
    }
    column = next.code == '\n' ? 1 : column + 1;
    if (next.code == '\n') ++line;
    text.remove_prefix(next.length);
  }
  return {};
}

bool looksLikeJson(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

Result<std::vector<json::value>> parseYamlDocuments(std::string_view text) {
  if (looksLikeJson(text)) {
    if (auto value = parseJson(text)) return std::vector<json::value>{*std::move(value)};
  }
  if (auto allowed = checkCharacters(text); !allowed) return fail(std::move(allowed.error()));
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Builder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return std::move(builder.documents);
  } catch (const YAML::Exception& e) {
    return fail(ErrorCode::BadRequest, fmt::format("not valid YAML: line {} column {}: {}",
                                                   e.mark.line + 1, e.mark.column + 1, e.msg));
  }
}

Result<json::value> parseYaml(std::string_view text) {
  auto documents = parseYamlDocuments(text);
  if (!documents) return fail(std::move(documents.error()));
  if (documents->empty()) return json::value(nullptr);
  if (documents->size() > 1) {
    return fail(ErrorCode::BadRequest,
                fmt::format("expected one YAML document, found {}", documents->size()));
  }
  return std::move(documents->front());
}

}  // namespace koord
