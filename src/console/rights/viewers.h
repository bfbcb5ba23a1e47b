#pragma once

// The users of a console that many share: who they are, and what each may see now.
//
// A request is admitted with its caller (kube/request_guard.h). All requests of a user share the
// reviews of the user's rights; each stream of rows has its own credentials, which are checked
// again while it lasts. Rights and credentials are checked every kRefresh, and count for
// Rights::kViewLasts, so a revoked right or token is without effect after 30 seconds also if the
// cluster does not answer: then nothing is sent.
//
// One executor.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "console/rights/rights.h"

namespace koord::console {

class Viewers {
 public:
  static constexpr Duration kRefresh = std::chrono::seconds(15);
  static constexpr Duration kTick = std::chrono::seconds(2);
  static constexpr Duration kIdle = std::chrono::minutes(5);  // then a user is forgotten
  // Streams of callers without a token, whose front proxy is not asked again. The page opens
  // another one.
  static constexpr Duration kLongestWithoutToken = std::chrono::minutes(10);
  static constexpr std::size_t kMostUsers = 256;
  // Requests and streams. A stream that is not read has a megabyte of memory. Each token of a
  // service account may be a user of its own, so users of the same name have a bound in all.
  static constexpr std::size_t kMostOfAUser = 32;
  static constexpr std::size_t kMostOfAName = 64;
  static constexpr std::size_t kMostInAll = 1024;
  // For how long a guard in front of the console may take an answer about a token again
  // (kube::GuardOptions::tokenTtl): so old may the check of new credentials be.
  static constexpr Duration kTokenCached = std::chrono::seconds(10);

  using Namespaces = std::function<std::set<std::string, std::less<>>()>;

  // kinds: by TableId. namespaces: those of the rows that exist. changed: what users may see has
  // changed.
  Viewers(Executor& executor, std::vector<const api::ResourceType*> kinds, Namespaces namespaces,
          std::function<void()> changed);

  void start();
  // The viewer counts while it lives. first: namespaces to ask about before others.
  // TooManyRequests: too many users, or too many requests of the user. Unavailable: the rights
  // cannot be checked.
  Task<Result<std::shared_ptr<const Viewer>>> admit(std::shared_ptr<const kube::Caller> caller,
                                                    std::vector<std::string> first);
  std::size_t users() const { return users_.size(); }

 private:
  class Session;
  struct User {
    explicit User(Rights rights) : rights(std::move(rights)) {}
    std::string name;
    Rights rights;
    std::vector<std::string> first;
    std::vector<std::weak_ptr<Session>> sessions;
    SteadyTime usedAt{};
    SteadyTime triedAt{};  // when the last refresh began
    std::string problem;   // of the last refresh; "" = it succeeded
    bool refreshing = false;
    std::vector<Completer<bool>> waiting;  // for the end of the refresh
  };

  // Forgets sessions that have ended.
  Result<> roomFor(const std::string& name);
  Result<std::shared_ptr<User>> userOf(const kube::Caller& caller);
  Task<void> tickForever();
  void tick();
  bool isDue(const User& user, const std::set<std::string, std::less<>>& namespaces) const;
  void refreshSoon(const std::shared_ptr<User>& user, std::shared_ptr<const kube::Caller> caller);
  Task<void> refresh(std::shared_ptr<User> user, std::shared_ptr<const kube::Caller> caller);
  Task<void> check(std::shared_ptr<Session> session);

  Executor& executor_;
  const std::vector<const api::ResourceType*> kinds_;
  const Namespaces namespaces_;
  const std::function<void()> changed_;
  std::map<std::string, std::shared_ptr<User>> users_;  // by identity
  TaskGroup tasks_;
};

}  // namespace koord::console
