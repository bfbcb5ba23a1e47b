#pragma once

// What one user may list, kept up to date by SubjectAccessReviews.
//
// For each table: may the user list and watch the kind in the whole cluster? If not, and the kind
// has namespaces: in which of them? A refresh asks again about everything that was granted, so a
// revoked right is noticed by the next refresh. What was refused is asked again after
// kRefusalsLast, because a user of a few namespaces among many would otherwise cost a review for
// each of the others each time; a new grant takes effect that much later.
//
// Cost of a refresh: two reviews for each kind, and for users without the whole cluster two for
// each granted namespace and kind. The first one, and one each kRefusalsLast, has at most
// 3 * kMostNamespaces more. At most kAtOnce run at a time.
//
// One executor.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/meta.h"
#include "base/executor.h"
#include "base/task.h"
#include "console/rights/view.h"
#include "kube/request_guard.h"

namespace koord::console {

class Rights {
 public:
  // A view counts for this long from the beginning of the reviews that it follows from.
  static constexpr Duration kViewLasts = std::chrono::seconds(30);
  static constexpr Duration kRefusalsLast = std::chrono::minutes(2);
  static constexpr std::size_t kMostNamespaces = 500;
  static constexpr std::size_t kAtOnce = 16;

  // kinds: by TableId.
  Rights(Executor& executor, std::vector<const api::ResourceType*> kinds)
      : executor_(executor), kinds_(std::move(kinds)) {}

  // Null if the last reviews are too old.
  std::shared_ptr<const View> view() const {
    return executor_.steadyNow() < validUntil_ ? view_ : nullptr;
  }
  SteadyTime refreshedAt() const { return refreshedAt_; }  // epoch: never
  // True if the user sees only a part of a kind with namespaces, and one of these was not asked
  // about yet.
  bool lacks(const std::set<std::string, std::less<>>& namespaces) const;
  // True if the user sees only a part, and one of these that exists was not asked about yet.
  bool lacksNamed(const std::vector<std::string>& named,
                  const std::set<std::string, std::less<>>& namespaces) const;

  // first: asked about before the others, which follow by name. An error keeps the view as it is.
  // One refresh at a time. The rights must outlive the task.
  Task<Result<>> refresh(std::shared_ptr<const kube::Caller> caller,
                         std::set<std::string, std::less<>> namespaces,
                         std::vector<std::string> first);

 private:
  struct Question {
    std::size_t table = 0;
    std::string namespace_;  // "" = the whole cluster
  };
  // Adds what is granted to the view.
  Task<Result<>> ask(const kube::Caller& caller, std::vector<Question> questions, View& view);
  Task<Result<bool>> mayFollow(const kube::Caller& caller, Question question) const;
  // At most kMostNamespaces.
  static std::vector<std::string> chosen(const std::set<std::string, std::less<>>& namespaces,
                                         const std::vector<std::string>& first);

  Executor& executor_;
  const std::vector<const api::ResourceType*> kinds_;
  std::shared_ptr<const View> view_ = std::make_shared<View>();
  SteadyTime validUntil_{};
  SteadyTime refreshedAt_{};
  std::map<std::pair<std::size_t, std::string>, SteadyTime> refused_;  // when to ask again
  std::set<std::string, std::less<>> known_;                           // namespaces asked about
  bool partial_ = false;  // a kind with namespaces is not granted for the whole cluster
};

}  // namespace koord::console
