#include "console/rights/viewers.h"

#include <algorithm>

#include "base/log.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr Duration kTryAgain = 5s;  // a refresh that failed

}  // namespace

class Viewers::Session final : public Viewer {
 public:
  Session(Executor& executor, std::shared_ptr<const User> user,
          std::shared_ptr<const kube::Caller> caller)
      : executor_(executor),
        user_(std::move(user)),
        caller_(std::move(caller)),
        openedAt(executor.steadyNow()),
        checkedAt(openedAt - kTokenCached) {}
  std::shared_ptr<const View> view() const override {
    const bool valid = ended_.empty() && executor_.steadyNow() < checkedAt + Rights::kViewLasts;
    return valid ? user_->rights.view() : nullptr;
  }
  const std::string& ended() const override { return ended_; }
  const std::shared_ptr<const kube::Caller>& caller() const override { return caller_; }
  void end(std::string why) { ended_ = std::move(why); }

 private:
  Executor& executor_;
  const std::shared_ptr<const User> user_;
  const std::shared_ptr<const kube::Caller> caller_;
  std::string ended_;

 public:
  const SteadyTime openedAt;
  SteadyTime checkedAt;  // when the last successful check of the credentials began
  bool checking = false;
};

Viewers::Viewers(Executor& executor, std::vector<const api::ResourceType*> kinds,
                 Namespaces namespaces, std::function<void()> changed)
    : executor_(executor),
      kinds_(std::move(kinds)),
      namespaces_(std::move(namespaces)),
      changed_(std::move(changed)) {}

void Viewers::start() {
  tasks_.spawn(tickForever());
}

Result<std::shared_ptr<Viewers::User>> Viewers::userOf(const kube::Caller& caller) {
  const auto known = users_.find(caller.identity());
  if (known != users_.end()) return known->second;
  if (users_.size() >= kMostUsers) {
    // The user without requests who was here the longest time ago.
    auto oldest = users_.end();
    for (auto user = users_.begin(); user != users_.end(); ++user)
      if (user->second->sessions.empty() &&
          (oldest == users_.end() || user->second->usedAt < oldest->second->usedAt))
        oldest = user;
    if (oldest == users_.end())
      return fail(ErrorCode::TooManyRequests, "too many users look at this console");
    users_.erase(oldest);
  }
  auto user = std::make_shared<User>(Rights(executor_, kinds_));
  user->name = caller.name();
  users_.emplace(caller.identity(), user);
  return user;
}

Result<> Viewers::roomFor(const std::string& name) {
  std::size_t all = 0, ofName = 0;
  for (const auto& [identity, user] : users_) {
    std::erase_if(user->sessions, [](const auto& session) { return session.expired(); });
    all += user->sessions.size();
    if (user->name == name) ofName += user->sessions.size();
  }
  if (ofName >= kMostOfAName)
    return fail(ErrorCode::TooManyRequests, "too many pages of this console are open in your name");
  if (all >= kMostInAll)
    return fail(ErrorCode::TooManyRequests, "too many pages of this console are open");
  return {};
}

Task<Result<std::shared_ptr<const Viewer>>> Viewers::admit(
    std::shared_ptr<const kube::Caller> caller, std::vector<std::string> first) {
  if (auto room = roomFor(caller->name()); !room) co_return fail(std::move(room.error()));
  auto found = userOf(*caller);
  if (!found) co_return fail(std::move(found.error()));
  const auto user = *std::move(found);
  user->usedAt = executor_.steadyNow();
  if (user->sessions.size() >= kMostOfAUser)
    co_return fail(ErrorCode::TooManyRequests, "you have too many pages of this console open");
  auto session = std::make_shared<Session>(executor_, user, caller);
  user->sessions.push_back(session);
  // Names that were asked about cost no reviews, so that no request costs more than it shows.
  const bool asksFirst = user->rights.lacksNamed(first, namespaces_());
  if (!first.empty()) user->first = std::move(first);
  const bool old = executor_.steadyNow() - user->rights.refreshedAt() >= kRefresh;
  if (asksFirst || old || !user->rights.view()) {
    refreshSoon(user, caller);
    auto [ended, completer] = Future<bool>::make(executor_);
    user->waiting.push_back(completer);
    co_await ended;
  }
  if (!session->view())
    co_return fail(ErrorCode::Unavailable, "your rights cannot be checked: " + user->problem);
  std::shared_ptr<const Viewer> viewer = std::move(session);
  co_return viewer;
}

void Viewers::refreshSoon(const std::shared_ptr<User>& user,
                          std::shared_ptr<const kube::Caller> caller) {
  if (user->refreshing) return;
  user->refreshing = true;
  user->triedAt = executor_.steadyNow();
  tasks_.spawn(refresh(user, std::move(caller)));
}

Task<void> Viewers::refresh(std::shared_ptr<User> user,
                            std::shared_ptr<const kube::Caller> caller) {
  const auto before = user->rights.view();
  auto refreshing = user->rights.refresh(std::move(caller), namespaces_(), user->first);
  const auto refreshed = co_await refreshing;
  user->problem = refreshed ? std::string() : refreshed.error().message;
  user->refreshing = false;
  for (const auto& completer : std::exchange(user->waiting, {})) completer.complete(true);
  if (!refreshed) {
    log::v(1, "console: rights of a user cannot be checked: {}", user->problem);
    co_return;
  }
  const auto after = user->rights.view();
  if (!before || !after || before->parts != after->parts) changed_();
}

Task<void> Viewers::tickForever() {
  while (true) {
    auto pause = sleepFor(executor_, kTick);
    co_await pause;
    tick();
  }
}

bool Viewers::isDue(const User& user, const std::set<std::string, std::less<>>& namespaces) const {
  const SteadyTime now = executor_.steadyNow();
  if (!user.problem.empty()) return now - user.triedAt >= kTryAgain;
  return now - user.rights.refreshedAt() >= kRefresh || user.rights.lacks(namespaces);
}

void Viewers::tick() {
  if (users_.empty()) return;
  const SteadyTime now = executor_.steadyNow();
  const auto namespaces = namespaces_();
  for (auto next = users_.begin(); next != users_.end();) {
    const auto [identity, user] = *next;
    std::erase_if(user->sessions, [](const auto& session) { return session.expired(); });
    if (user->sessions.empty()) {
      next =
          now - user->usedAt >= kIdle && !user->refreshing ? users_.erase(next) : std::next(next);
      continue;
    }
    ++next;
    user->usedAt = now;
    std::shared_ptr<const kube::Caller> caller;
    for (const auto& weak : user->sessions) {
      const auto session = weak.lock();
      if (!session || !session->ended().empty()) continue;
      if (session->caller()->token().empty() && now - session->openedAt >= kLongestWithoutToken) {
        session->end("the longest time of a stream is over");
        changed_();
        continue;
      }
      caller = session->caller();
      if (session->checking || now - session->checkedAt < kRefresh) continue;
      session->checking = true;
      tasks_.spawn(check(session));
    }
    if (caller && isDue(*user, namespaces)) refreshSoon(user, caller);
  }
}

Task<void> Viewers::check(std::shared_ptr<Session> session) {
  const SteadyTime begin = executor_.steadyNow();
  const auto caller = session->caller();
  auto checking = caller->stillValid();
  const auto valid = co_await checking;
  session->checking = false;
  if (valid) {
    const bool held = !session->view();
    session->checkedAt = begin;
    if (held) changed_();
  } else if (valid.error().code == ErrorCode::Unauthorized) {
    session->end(valid.error().message);
    changed_();
  }
}

}  // namespace koord::console
