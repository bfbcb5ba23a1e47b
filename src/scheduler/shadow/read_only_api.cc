#include "scheduler/shadow/read_only_api.h"

#include <fmt/format.h>

#include "base/log.h"
#include "kube/verb_name.h"

namespace koord::scheduler {

namespace {

std::string describeWrite(const kube::Request& request) {
  std::string text = fmt::format("{} {}", kube::verbName(request.verb), request.resource);
  if (!request.subresource.empty()) text += "/" + request.subresource;
  return text;
}

}  // namespace

bool isReadOnly(const kube::Request& request) {
  switch (request.verb) {
    case kube::Verb::Get:
    case kube::Verb::List:
    case kube::Verb::Watch:
      return true;
    case kube::Verb::Create:
      return (request.group == "authentication.k8s.io" && request.resource == "tokenreviews") ||
             (request.group == "authorization.k8s.io" &&
              request.resource == "subjectaccessreviews");
    default:
      return false;
  }
}

Task<Result<std::string>> ReadOnlyApi::call(kube::Request request) {
  if (!isReadOnly(request)) {
    const std::string what = describeWrite(request);
    if (refused_[what]++ == 0) log::warn("{} was refused: a shadow scheduler writes nothing", what);
    co_return fail(ErrorCode::Forbidden, what + ": a shadow scheduler writes nothing");
  }
  auto calling = inner_.call(std::move(request));
  auto answer = co_await calling;
  co_return answer;
}

}  // namespace koord::scheduler
