#include "koordlet/resourceexecutor/resource_executor.h"

#include <fmt/core.h>

#include "base/log.h"
#include "base/split.h"
#include "koordlet/system/small_file.h"

// Strategies pass their wanted values in every round; the executor writes as few as possible. It
// remembers a value that was written or found correct for a minute, in which it neither reads nor
// writes the file. After that it reads the file, and writes if the value differs. So other writers
// (kubelet, a runtime, a user) are overruled once a minute, and the audit shows it. Values are
// compared by meaning: the kernel prints "0-3" for "0,1,2,3".
//
// Limits of a parent and its children must agree at every moment (updateLeveled). A wider cpuset,
// or a larger limit, must be set in the parent first; a narrower one in the children first; and a
// change may be both. So there are two passes: top down each file is loosened, to the union of old
// and new or the larger of both; then bottom up each gets its wanted value. The second pass skips
// files that have their final value after the first.
//
// Another process, such as kubelet's static CPU manager, may permanently want another value. A
// value that is changed back a few times a minute is left alone for some minutes, which is logged,
// counted and recorded, and then tried again. Only CPU suppression of BE pods keeps writing
// (Caching::ForceWrite): yielding would leave LS pods without their CPU.
//
// A removed cgroup is not a failure: pods end in the middle of a round. Failures are logged once a
// minute per file, because the next round fails, too. Cost: a hash look-up per value and no
// allocation in the common case.

namespace koord::koordlet {

using namespace std::chrono_literals;

namespace {

constexpr int kLosses = 6;  // in kLossWindow: a fight
constexpr Duration kLossWindow = 1min;
constexpr Duration kRest = 5min;

// Quota and period share a file in v2; the key tells them apart.
std::string conflictKey(const std::string& path, CgroupFile file) {
  return path + '#' + std::string(nameOf(file));
}

std::string failureKey(const CgroupValue& update) {
  return fmt::format("{}/{}", update.dir, nameOf(update.file));
}

}  // namespace

ResourceExecutor::ResourceExecutor(const Host& host, const Clock& clock, Options options,
                                   AuditRing& audit)
    : host_(host), clock_(clock), options_(options), audit_(audit) {}

bool ResourceExecutor::supported(CgroupFile file, std::string_view dir) {
  const CgroupVersion version = host_.layout.version(subsystemOf(file));
  if (fileNameIn(file, version).empty()) return false;
  const auto exists = [&](std::string_view where) {
    return cgroupFilePath(host_.layout, file, where, path_) && pathExists(path_);
  };
  switch (supportOf(file, version)) {
    case CgroupSupport::Always:
      return true;
    case CgroupSupport::InDir:
      return exists(dir);
    case CgroupSupport::InRoot:
      return exists("");
    case CgroupSupport::InKubepods:
      break;
  }
  const auto known = supportedInKubepods_.find(file);
  if (known != supportedInKubepods_.end()) return known->second;
  const bool there = exists(host_.kubepods());
  // The answer is final only once kubelet has created its directory.
  if (there || pathExists(host_.layout.dir(subsystemOf(file), host_.kubepods())))
    supportedInKubepods_.emplace(file, there);
  return there;
}

ResourceExecutor::CachedValue* ResourceExecutor::cached(const CgroupValue& update) {
  const auto it = cache_.find(update.dir);
  if (it == cache_.end()) return nullptr;
  const auto device = deviceOf(update.file, update.value);
  for (CachedValue& one : it->second)
    if (one.file == update.file && deviceOf(one.file, one.value) == device) return &one;
  return nullptr;
}

bool ResourceExecutor::fresh(const CgroupValue& update, CgroupVersion version) {
  const CachedValue* known = cached(update);
  if (!known || known->missing || clock_.steadyNow() - known->at >= options_.forceUpdate)
    return false;
  return known->value == update.value ||
         sameCgroupValue(update.file, version, known->value, update.value);
}

void ResourceExecutor::remember(const CgroupValue& update) {
  const SteadyTime now = clock_.steadyNow();
  if (CachedValue* known = cached(update)) {
    known->value = update.value;
    known->at = now;
    known->missing = false;
    return;
  }
  auto it = cache_.find(update.dir);
  const bool isNew = it == cache_.end();
  if (isNew) it = cache_.try_emplace(std::string(update.dir)).first;
  it->second.push_back({{std::string(update.value), now}, update.file});
  isNew ? addNewCgroup(it->first) : keepNewCgroup(it->first);
}

void ResourceExecutor::forget(const CgroupValue& update) {
  const CachedValue* known = cached(update);
  if (!known) return;
  Values& values = cache_.find(update.dir)->second;
  values.erase(values.begin() + (known - values.data()));
}

bool ResourceExecutor::isInConflict(const CgroupValue& update, CgroupVersion version,
                                    const std::string& path, std::string_view current,
                                    Caching caching) {
  const auto it = conflicts_.find(conflictKey(path, update.file));
  if (it == conflicts_.end()) return false;
  Conflict& contest = it->second;
  const SteadyTime now = clock_.steadyNow();
  contest.at = now;
  const bool insists = caching == Caching::ForceWrite;
  if (now < contest.restUntil) return !insists;
  if (sameCgroupValue(update.file, version, current, contest.ours)) return false;
  if (contest.lost == 0 || now - contest.since > kLossWindow) {
    contest.lost = 0;
    contest.since = now;
  }
  if (++contest.lost < kLosses) return false;
  contest.lost = 0;
  contest.restUntil = now + kRest;
  contest.dir = update.dir;
  contest.file = nameOf(update.file);
  contest.theirs = trim(current);
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(kRest).count();
  if (insists) {
    log::warn("{} of {}: another program keeps changing {} to {}; koordlet keeps writing it",
              contest.file, update.dir, contest.ours, contest.theirs);
  } else {
    log::warn(
        "{} of {}: another program keeps changing {} to {}; koordlet does not write it for {} "
        "minutes",
        contest.file, update.dir, contest.ours, contest.theirs, minutes);
    audit_.add({clock_.wallNow(), contest.dir, contest.file, contest.theirs, contest.theirs,
                fmt::format("{}: not written, another program keeps reverting {}", update.reason,
                            contest.ours)});
  }
  if (onConflict_) onConflict_(contest.file, update.dir);
  return !insists;
}

json::value ResourceExecutor::conflictsView() const {
  json::array fights;
  const SteadyTime now = clock_.steadyNow();
  for (const auto& [path, contest] : conflicts_)
    if (now < contest.restUntil)
      fights.push_back(json::object{
          {"cgroup", contest.dir},
          {"file", contest.file},
          {"ours", contest.ours},
          {"theirs", contest.theirs},
          {"seconds",
           std::chrono::duration_cast<std::chrono::seconds>(contest.restUntil - now).count()}});
  return fights;
}

Result<UpdateOutcome> ResourceExecutor::writeIfDifferent(const CgroupValue& update,
                                                         std::string_view value, Caching caching,
                                                         const std::string* current) {
  const CgroupVersion version = host_.layout.version(subsystemOf(update.file));
  if (!supported(update.file, update.dir)) return UpdateOutcome::Unsupported;
  auto encoded = encodeCgroupValue(update.file, version, value);
  if (!encoded) return fail(std::move(encoded.error()));
  auto valid = validateCgroupValue(update.file, version, *encoded);
  if (!valid) return fail(std::move(valid.error()));
  if (!cgroupFilePath(host_.layout, update.file, update.dir, path_))
    return UpdateOutcome::Unsupported;
  if (!current) {
    auto read = readValueFile(path_, current_);
    if (!read) {
      if (read.error().code == ErrorCode::NotFound) return UpdateOutcome::Gone;
      return fail(std::move(read.error()));
    }
    current = &current_;
  }
  if (sameCgroupValue(update.file, version, *current, *encoded)) return UpdateOutcome::Unchanged;
  if (isInConflict(update, version, path_, *current, caching)) return UpdateOutcome::InConflict;
  const SteadyTime start = clock_.steadyNow();
  auto wrote = writeSmallFile(path_, *encoded);
  const bool gone = !wrote && wrote.error().code == ErrorCode::NotFound;
  if (observer_ && !gone)
    observer_(nameOf(update.file), wrote.has_value(), clock_.steadyNow() - start);
  if (gone) return UpdateOutcome::Gone;
  if (!wrote) return fail(std::move(wrote.error()));
  Conflict& contest = conflicts_[conflictKey(path_, update.file)];
  contest.ours = *encoded;
  contest.at = start;
  audit_.add({clock_.wallNow(), std::string(update.dir),
              std::string(fileNameIn(update.file, version)), std::string(trim(*current)),
              *std::move(encoded), std::string(update.reason)});
  return UpdateOutcome::Written;
}

Result<UpdateOutcome> ResourceExecutor::update(const CgroupValue& update, Caching caching) {
  return apply(update, caching, nullptr);
}

Result<UpdateOutcome> ResourceExecutor::apply(const CgroupValue& update, Caching caching,
                                              const std::string* current) {
  const CgroupVersion version = host_.layout.version(subsystemOf(update.file));
  if (caching == Caching::Yes && fresh(update, version)) return UpdateOutcome::Unchanged;
  auto outcome = writeIfDifferent(update, update.value, caching, current);
  const bool applied =
      outcome && (*outcome == UpdateOutcome::Written || *outcome == UpdateOutcome::Unchanged);
  if (applied) {
    if (!failures_.empty()) failures_.erase(failureKey(update));
    // Without caching, forget what another strategy has written to the same file.
    caching == Caching::Yes ? remember(update) : forget(update);
  }
  if (outcome && *outcome == UpdateOutcome::Gone && caching == Caching::Yes) awaitFile(update);
  return outcome;
}

bool ResourceExecutor::shouldLog(const std::string& key) {
  const SteadyTime now = clock_.steadyNow();
  const auto [it, first] = failures_.try_emplace(key, now);
  if (!first && now - it->second < 1min) return false;
  it->second = now;
  return true;
}

void ResourceExecutor::logFailure(const CgroupValue& update, const Error& error) {
  if (shouldLog(failureKey(update)))
    log::warn("{} of {} not set ({}): {}", nameOf(update.file), update.dir, update.reason,
              error.message);
}

Result<UpdateOutcome> ResourceExecutor::writeFile(const FileUpdate& update) {
  const auto read = readSmallFile(update.path, current_);
  if (!read) {
    if (read.error().code == ErrorCode::NotFound) return UpdateOutcome::Gone;
    return fail(read.error());
  }
  const auto hasValue =
      update.hasValue ? update.hasValue : +[](std::string_view is, std::string_view wanted) {
        return trim(is) == trim(wanted);
      };
  if (hasValue(current_, update.value)) return UpdateOutcome::Unchanged;
  const SteadyTime start = clock_.steadyNow();
  auto wrote = writeSmallFile(update.path, update.value);
  if (observer_) observer_(update.type, wrote.has_value(), clock_.steadyNow() - start);
  if (!wrote) return fail(std::move(wrote.error()));
  const auto slash = update.path.rfind('/') + 1;
  audit_.add({clock_.wallNow(), update.path.substr(0, slash), update.path.substr(slash),
              std::string(trim(current_)), std::string(trim(update.value)), update.reason});
  return UpdateOutcome::Written;
}

Result<UpdateOutcome> ResourceExecutor::updateFile(const FileUpdate& update, Caching caching) {
  key_.assign(update.path).append(1, '#').append(update.part);
  if (caching == Caching::Yes) {
    const auto it = files_.find(key_);
    if (it != files_.end() && it->second.value == update.value &&
        clock_.steadyNow() - it->second.at < options_.forceUpdate)
      return UpdateOutcome::Unchanged;
  }
  auto outcome = writeFile(update);
  if (!outcome) {
    if (shouldLog(key_))
      log::warn("{} not set ({}): {}", update.path, update.reason, outcome.error().message);
    return outcome;
  }
  failures_.erase(key_);
  if (caching == Caching::Yes && *outcome != UpdateOutcome::Gone)
    files_.insert_or_assign(key_, Cached{update.value, clock_.steadyNow()});
  return outcome;
}

void ResourceExecutor::forgetFile(const std::string& path) {
  std::erase_if(
      files_, [prefix = path + '#'](const auto& entry) { return entry.first.starts_with(prefix); });
}

Result<int> ResourceExecutor::moveTasks(const std::string& path, std::span<const int> ids,
                                        const std::string& reason) {
  int moved = 0;
  std::optional<Error> problem;
  for (const int id : ids) {
    const auto wrote = appendSmallFile(path, std::to_string(id));
    if (wrote) {
      ++moved;
    } else if (wrote.error().code == ErrorCode::NotFound && !pathExists(path)) {
      return fail(wrote.error());
    } else if (wrote.error().code != ErrorCode::NotFound) {
      problem = wrote.error();
    }
  }
  const auto slash = path.rfind('/') + 1;
  if (moved > 0)
    audit_.add({clock_.wallNow(), path.substr(0, slash), path.substr(slash), "",
                fmt::format("{} more", moved), reason});
  if (problem) {
    if (shouldLog(path)) log::warn("{} not set ({}): {}", path, reason, problem->message);
    if (moved == 0) return fail(*std::move(problem));
  }
  return moved;
}

void ResourceExecutor::updateOne(const CgroupValue& update, Caching caching, BatchResult& result,
                                 const std::string* current) {
  const auto outcome = apply(update, caching, current);
  if (!outcome) {
    ++result.failed;
    logFailure(update, outcome.error());
  } else if (*outcome == UpdateOutcome::Written) {
    ++result.written;
  }
}

ResourceExecutor::BatchResult ResourceExecutor::updateBatch(std::span<const CgroupUpdate> updates,
                                                            Caching caching) {
  BatchResult result;
  for (const auto& one : updates) updateOne(one, caching, result);
  return result;
}

bool ResourceExecutor::loosen(const CgroupValue& update, Caching caching, BatchResult& result,
                              Tightening& left) {
  left.read = false;
  const CgroupVersion version = host_.layout.version(subsystemOf(update.file));
  if (caching == Caching::Yes && fresh(update, version)) return true;
  if (!supported(update.file, update.dir)) return true;
  if (!cgroupFilePath(host_.layout, update.file, update.dir, path_)) return true;
  if (const auto read = readValueFile(path_, current_); !read) {
    const bool gone = read.error().code == ErrorCode::NotFound;
    if (gone && caching == Caching::Yes) awaitFile(update);
    return gone;
  }
  const auto merged = mergedValue(update.file, version, current_, update.value);
  // A malformed content cannot be compared; the second pass replaces it.
  if (!merged || !*merged) {
    left.current.assign(current_);
    left.read = true;
    return false;
  }
  const auto outcome = writeIfDifferent(update, **merged, caching, &current_);
  if (!outcome) {
    logFailure(update, outcome.error());
    return false;
  }
  if (*outcome == UpdateOutcome::Written) ++result.written;
  if (**merged != update.value) return false;
  if (caching == Caching::Yes) remember(update);
  return true;
}

ResourceExecutor::BatchResult ResourceExecutor::updateLeveled(
    std::span<const std::vector<CgroupUpdate>> levels, Caching caching) {
  const std::vector<std::span<const CgroupUpdate>> spans(levels.begin(), levels.end());
  return updateLeveled(spans, caching);
}

ResourceExecutor::BatchResult ResourceExecutor::updateLeveled(
    std::span<const std::span<const CgroupUpdate>> levels, Caching caching) {
  BatchResult result;
  std::size_t left = 0;
  for (const auto& level : levels)
    for (const auto& one : level) {
      if (!isMergeable(one.file)) {
        updateOne(one, caching, result);
        continue;
      }
      if (left == second_.size()) second_.emplace_back();
      if (loosen(one, caching, result, second_[left])) continue;
      second_[left++].update = &one;
    }
  while (left > 0) {
    const Tightening& one = second_[--left];
    updateOne(*one.update, caching, result, one.read ? &one.current : nullptr);
  }
  return result;
}

std::size_t ResourceExecutor::cacheSize() const {
  std::size_t size = files_.size();
  for (const auto& [dir, values] : cache_) size += values.size();
  return size;
}

void ResourceExecutor::collectGarbage() {
  const SteadyTime now = clock_.steadyNow();
  const auto expired = [&](const Cached& one) { return now - one.at > options_.cacheExpiry; };
  for (auto& [dir, values] : cache_) std::erase_if(values, expired);
  std::erase_if(cache_, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(files_, [&](const auto& entry) { return expired(entry.second); });
  std::erase_if(conflicts_, [&](const auto& entry) {
    return now - entry.second.at > kLossWindow && now > entry.second.restUntil;
  });
  std::erase_if(failures_, [&](const auto& entry) { return now - entry.second > 10min; });
}

}  // namespace koord::koordlet
