#include "apiserver/words/words.h"

#include <map>

#include "base/split.h"

namespace koord::apiserver {

namespace {

using Words = std::map<std::string, std::string, std::less<>>;

void read(Words& words, std::string_view table) {
  std::string type;
  std::string* text = nullptr;  // of the last name
  while (!table.empty()) {
    const auto end = table.find('\n');
    const auto line = table.substr(0, end);
    table = end == std::string_view::npos ? std::string_view{} : table.substr(end + 1);
    const auto content = trim(line);
    if (content.empty()) continue;
    const auto indent = line.find_first_not_of(' ');
    if (indent >= 4 && text) {
      *text += ' ';
      *text += content;
      continue;
    }
    const auto colon = content.find(':');
    const std::string name(content.substr(0, colon));
    if (indent == 0) type = name;
    text = &words[indent == 0 ? name : type + "." + name];
    *text = trim(content.substr(colon == std::string_view::npos ? content.size() : colon + 1));
  }
}

const Words& allWords() {
  static const Words all = [] {
    Words words;
    for (const char* table : {words::kMeta, words::kPod, words::kContainer, words::kCore,
                              words::kWorkloads, words::kOthers})
      read(words, table);
    return words;
  }();
  return all;
}

std::string_view at(std::string_view name) {
  const auto found = allWords().find(name);
  return found == allWords().end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace

std::string_view wordsOf(std::string_view type) {
  return at(type);
}

std::string_view wordsOf(std::string_view type, std::string_view field) {
  const auto own = at(std::string(type).append(".").append(field));
  return own.empty() ? at(std::string("*.").append(field)) : own;
}

std::vector<std::string> namesWithWords() {
  std::vector<std::string> names;
  for (const auto& [name, text] : allWords()) names.push_back(name);
  return names;
}

}  // namespace koord::apiserver
