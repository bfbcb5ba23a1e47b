#include <fnmatch.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/yaml.h"
#include "scenario/test_file.h"

namespace koord::scenario {
namespace {

bool isPattern(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

// The files that match the pattern; its folder part is literal.
Result<std::vector<std::filesystem::path>> expand(const std::filesystem::path& pattern) {
  if (!isPattern(pattern.filename().string())) return std::vector{pattern};
  std::error_code ec;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(pattern.parent_path(), ec)) {
    const auto name = entry.path().filename();
    if (fnmatch(pattern.filename().c_str(), name.c_str(), FNM_PERIOD) == 0)
      files.push_back(entry.path());
  }
  if (files.empty())
    return fail(ErrorCode::NotFound, fmt::format("{}: no file matches", pattern.string()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<std::vector<json::value>> readResources(const std::filesystem::path& folder,
                                               const std::string& pattern) {
  const auto files = expand(folder / pattern);
  if (!files) return fail(files.error());
  std::vector<json::value> resources;
  for (const auto& file : *files) {
    const auto text = readFile(file.string());
    if (!text) return fail(text.error());
    auto documents = parseYamlDocuments(*text);
    if (!documents) return fail(std::move(documents.error()).within(file.string()));
    for (auto& document : *documents) {
      auto* items = textAt(document, "kind").ends_with("List") ? find(document, "items") : nullptr;
      if (items && items->is_array()) {
        for (auto& item : items->get_array()) resources.push_back(std::move(item));
      } else {
        resources.push_back(std::move(document));
      }
    }
  }
  if (!std::ranges::all_of(resources, [](const auto& resource) { return resource.is_object(); }))
    return fail(ErrorCode::Invalid, fmt::format("{}: contains a document that is not an object",
                                                (folder / pattern).string()));
  if (resources.empty()) {
    return fail(ErrorCode::Invalid,
                fmt::format("{}: contains no object", (folder / pattern).string()));
  }
  return resources;
}

}  // namespace koord::scenario
