#include "kube/retry.h"

#include <algorithm>

#include "kube/client.h"

namespace koord::kube {
namespace {

class BackOff {
 public:
  BackOff(Executor& executor, Random random, const RetryPolicy& policy)
      : executor_(executor),
        random_(random),
        policy_(policy),
        next_(policy.first),
        end_(executor.steadyNow() + policy.limit) {}

  bool over() const { return executor_.steadyNow() >= end_; }
  Sleep wait(const Error& error) {
    const Duration own = next_ + Duration(random_.below(next_.count() + 1));
    next_ = std::min(next_ * 2, policy_.longest);
    // What a server asks for counts, up to the end.
    const SteadyTime when = executor_.steadyNow() + std::max<Duration>(own, error.retryAfter);
    return sleepUntil(executor_, std::min(when, end_));
  }

 private:
  Executor& executor_;
  Random random_;
  const RetryPolicy policy_;
  Duration next_;
  const SteadyTime end_;
};

// Twice as long as Kubernetes' suffix, so that no other client chooses the same name.
std::string suffix(Random& random) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (int i = 0; i < 10; ++i) text += kLetters[random.below(kLetters.size())];
  return text;
}

// True when a name was made.
bool fixName(json::value& object, Random& random) {
  auto* metadata = find(object, "metadata");
  if (!metadata || !metadata->is_object() || !textAt(*metadata, "name").empty()) return false;
  const std::string prefix(textAt(*metadata, "generateName"));
  if (prefix.empty()) return false;
  metadata->get_object()["name"] = prefix + suffix(random);
  return true;
}

}  // namespace

bool mayHaveSucceeded(const Error& error) {
  return error.code == ErrorCode::Unavailable || error.code == ErrorCode::Timeout ||
         error.code == ErrorCode::Internal || error.code == ErrorCode::Unknown;
}

bool isRetriable(const Error& error) {
  return mayHaveSucceeded(error) || error.code == ErrorCode::TooManyRequests;
}

Task<Result<json::value>> changeObject(Api& api, Executor& executor, Random random,
                                       const api::ResourceType& type, api::ObjectKey key,
                                       Change change, std::string subresource, RetryPolicy policy) {
  BackOff backOff(executor, random, policy);
  for (;;) {
    auto reading = getObject(api, type, key);
    auto current = co_await reading;
    Error error;
    if (current) {
      auto patch = change(*current);
      if (!patch) co_return std::move(current);
      if (patch->is_object()) {
        auto& metadata = patch->get_object()["metadata"];
        if (!metadata.is_object()) metadata = json::object{};
        metadata.get_object()["resourceVersion"] = textAt(*current, "metadata", "resourceVersion");
      }
      auto writing = mergePatch(api, type, key, *std::move(patch), subresource);
      auto written = co_await writing;
      if (written) co_return std::move(written);
      error = std::move(written.error());
    } else {
      error = std::move(current.error());
    }
    const bool again = isRetriable(error) || error.code == ErrorCode::Conflict;
    if (!again || backOff.over()) co_return fail(std::move(error));
    auto pause = backOff.wait(error);
    co_await pause;
  }
}

Task<Result<json::value>> createOnce(Api& api, Executor& executor, Random random,
                                     const api::ResourceType& type, json::value object,
                                     RetryPolicy policy) {
  const bool ownName = fixName(object, random);
  const api::ObjectKey key{std::string(textAt(object, "metadata", "namespace")),
                           std::string(textAt(object, "metadata", "name"))};
  BackOff backOff(executor, random, policy);
  for (;;) {
    auto creating = createObject(api, type, {key.namespace_, {}}, object);
    auto created = co_await creating;
    if (created) co_return std::move(created);
    if (created.error().code == ErrorCode::AlreadyExists && ownName) {
      auto reading = getObject(api, type, key);
      created = co_await reading;
      if (created) co_return std::move(created);
    }
    Error error = std::move(created.error());
    // Conflict: a quota that another client just used, or AlreadyExists whose reason was cut off.
    const bool again = isRetriable(error) || error.code == ErrorCode::Conflict;
    if (!again || backOff.over()) co_return fail(std::move(error));
    auto pause = backOff.wait(error);
    co_await pause;
  }
}

Task<Result<>> deleteOnce(Api& api, Executor& executor, Random random,
                          const api::ResourceType& type, api::ObjectKey key, std::string uid,
                          RetryPolicy policy) {
  BackOff backOff(executor, random, policy);
  for (;;) {
    DeleteOptions options;
    options.uid = uid;
    auto deleting = deleteObject(api, type, key, std::move(options));
    auto deleted = co_await deleting;
    if (deleted) co_return deleted;
    Error error = std::move(deleted.error());
    // Conflict: another object has this name.
    if (error.code == ErrorCode::NotFound || error.code == ErrorCode::Conflict)
      co_return Result<>{};
    if (!isRetriable(error) || backOff.over()) co_return fail(std::move(error));
    auto pause = backOff.wait(error);
    co_await pause;
  }
}

}  // namespace koord::kube
