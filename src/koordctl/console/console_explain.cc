#include "koordctl/console/console_explain.h"

#include <algorithm>
#include <optional>

#include "koordctl/explain/screen_explain.h"

namespace koord::koordctl {

namespace {

using About = ExplainOptions::About;

std::optional<About> aboutOf(std::string_view kind) {
  if (kind == "pod") return About::Pod;
  if (kind == "node") return About::Node;
  if (kind == "quota") return About::Quota;
  if (kind == "gang") return About::Gang;
  if (kind == "reservation") return About::Reservation;
  return std::nullopt;
}

// Names become parts of the path of a request to another program.
bool isObjectName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '/';
  };
  return !name.empty() && name.front() != '/' && std::ranges::all_of(name, allowed) &&
         std::ranges::count(name, '/') <= 1 && !name.contains("..");
}

}  // namespace

Task<Result<std::string>> explainForConsole(cluster::Question question, std::string kind,
                                            std::string name) {
  const auto about = aboutOf(kind);
  if (!about || !isObjectName(name))
    co_return fail(ErrorCode::Invalid, "koordctl explain does not know this kind or name");
  auto asking = explainAbout(std::move(question), *about, std::move(name));
  auto text = co_await asking;
  co_return text;
}

}  // namespace koord::koordctl
