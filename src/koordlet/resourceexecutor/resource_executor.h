#pragma once

// The one writer of cgroup files. Everybody who wants a value in the kernel hands it here every
// round; the executor writes only what differs, looks at the file again at least once a minute
// (somebody else may have changed it), keeps parent and child limits consistent while both move,
// and records each change. Cgroups that are new to it are looked at far more often (lookAtYoung),
// since whoever made them is still to write there.
//
// Values are given as for cgroup v1 ("1024" shares, quota "-1"), whatever the machine has.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "koordlet/resourceexecutor/audit_ring.h"
#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

struct CgroupUpdate {
  CgroupFile file = {};
  std::string dir;  // relative to the hierarchy
  std::string value;
  std::string_view reason;  // for the audit; a text that stays
};

// The same without owning its texts: most of what is handed in each second is there already.
struct CgroupValue {
  CgroupFile file;
  std::string_view dir, value, reason;
  CgroupValue(CgroupFile itsFile, std::string_view itsDir, std::string_view itsValue,
              std::string_view itsReason)
      : file(itsFile), dir(itsDir), value(itsValue), reason(itsReason) {}
  CgroupValue(const CgroupUpdate& update)
      : CgroupValue(update.file, update.dir, update.value, update.reason) {}
};

// Values in the order in which they were added. After clear() the memory of the last ones is used again, so that lists
// that are made anew in each round cost none.
class UpdateList {
 public:
  using value_type = CgroupUpdate;
  using const_iterator = std::vector<CgroupUpdate>::const_iterator;

  void push_back(const CgroupValue& value) {
    if (size_ == items_.size()) items_.emplace_back();
    CgroupUpdate& item = items_[size_++];
    item.file = value.file;
    item.dir.assign(value.dir);
    item.value.assign(value.value);
    item.reason = value.reason;
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.begin() + static_cast<std::ptrdiff_t>(size_); }
  const CgroupUpdate& operator[](std::size_t i) const { return items_[i]; }
  const CgroupUpdate& back() const { return items_[size_ - 1]; }
  operator std::span<const CgroupUpdate>() const { return std::span(items_).first(size_); }

 private:
  std::vector<CgroupUpdate> items_;
  std::size_t size_ = 0;
};

// A file that is no cgroup's: of resctrl, /proc/sys, /sys.
struct FileUpdate {
  std::string path;
  std::string value;
  std::string reason;
  std::string type = "default";  // for the metric, "resctrl-schema"
  // Whether a file that reads `current` says the value already; null compares texts.
  bool (*says)(std::string_view current, std::string_view value) = nullptr;
  std::string part = {};  // which setting, where one file holds several
};

enum class UpdateOutcome {
  Written,
  Unchanged,    // the file has the value already, or had it when last looked at
  Unsupported,  // this kernel or cgroup version does not have the file
  Gone,         // the cgroup is not there (any more)
  Contested,    // somebody keeps changing it back; left alone for a while
};

class ResourceExecutor {
 public:
  struct Options {
    Duration forceUpdate = std::chrono::seconds(60);  // look at a file again after this
    Duration cacheExpiry = std::chrono::minutes(2);
  };
  // Called for each write attempt: what (the cgroup file's name or a FileUpdate's type), how long it
  // took and whether it worked.
  using Observer = std::function<void(std::string_view type, bool ok, Duration took)>;

  ResourceExecutor(const Host& host, const Clock& clock, Options options, AuditRing& audit);

  void setObserver(Observer observer) { observer_ = std::move(observer); }

  enum class Caching {
    Yes,
    No,      // its owner looks at the file every round
    Insist,  // and does not give way to others who keep changing it
  };
  // An error: a value out of range, or the kernel refused it. It is not logged here.
  Result<UpdateOutcome> update(const CgroupValue& update, Caching caching = Caching::Yes);
  struct BatchResult {
    int written = 0;
    int failed = 0;  // the kernel refused; logged, at most once a minute per file
  };
  // Updates independent of each other.
  BatchResult updateBatch(std::span<const CgroupUpdate> updates, Caching caching = Caching::Yes);
  // Levels from top (QoS class) to bottom (container). First pass, top down: what grows is written,
  // so that a parent is never tighter than its child wants; cpusets become the union of old and
  // new. Second pass, bottom up: everything gets its target.
  BatchResult updateLeveled(std::span<const std::span<const CgroupUpdate>> levels,
                            Caching caching = Caching::Yes);
  BatchResult updateLeveled(std::span<const std::vector<CgroupUpdate>> levels,
                            Caching caching = Caching::Yes);

  // One file that is no cgroup's; missing ones are Gone. Failures are logged as those of cgroups.
  Result<UpdateOutcome> updateFile(const FileUpdate& update, Caching caching = Caching::Yes);
  // A file that is no cgroup's was made anew, with all of its settings.
  void forgetFile(const std::string& path);
  // Writes the thread ids one by one to a file that takes one a write; those of threads that ended
  // are no failure. How many were taken.
  Result<int> moveTasks(const std::string& path, std::span<const int> ids,
                        const std::string& reason);

  // A file may have been changed by somebody: it is read, and where it says something else than what
  // was last written there, that is written again when it is handed in next. True then.
  bool changed(const std::string& path);
  // A cgroup's directory, by its full path, is there anew or no more.
  void forgetDir(const std::string& path);
  // Anything may have been changed.
  void forgetAll();
  // How many values were forgotten so.
  std::uint64_t forgotten() const { return forgotten_; }

  // Looks at the values of cgroups that were handed in for the first time not long ago; true when one was
  // changed by somebody, as by `changed`. When it is time for the next look; never while none is young.
  bool lookAtYoung();
  std::optional<Duration> nextLook() const;
  // Told when the first cgroup is young again.
  void onYoung(std::function<void()> fn) { onYoung_ = std::move(fn); }

  // Somebody else keeps changing a value back: told once each time that a fight is given up.
  using OnFight = std::function<void(std::string_view file, std::string_view dir)>;
  void onFight(OnFight fn) { onFight_ = std::move(fn); }
  // The values that are left alone now: [{"cgroup", "file", "ours", "theirs", "until"}].
  json::value fightsView() const;

  // Forgets values not handed in for a while. Call about once a minute.
  void collectGarbage();
  std::size_t cacheSize() const;

  // Whether the kernel has the file, where it is to be written.
  bool supported(CgroupFile file, std::string_view dir);

 private:
  struct Cached {
    std::string value;
    SteadyTime at;
  };
  struct CachedValue : Cached {
    CgroupFile file;
    bool missing = false;  // the file was not there yet, while the cgroup was
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  // Who else writes to a file, as far as its content tells.
  struct Contest {
    std::string dir, file;
    std::string ours, theirs;
    int lost = 0;  // times that ours was gone, since
    SteadyTime since{};
    SteadyTime restUntil{};
    SteadyTime at{};  // last looked at
  };
  // Takes account of what a file has; true when it is to be left alone.
  bool contested(const CgroupValue& update, CgroupVersion version, const std::string& path,
                 std::string_view current, Caching caching);

  using Values = std::vector<CachedValue>;
  struct Young {
    std::string dir;
    SteadyTime born{};   // when it was first handed in
    SteadyTime since{};  // or one of its values was last changed by somebody
    SteadyTime looked{};
  };
  void addYoung(std::string_view dir);
  // A value of a young cgroup was repaired: whoever wrote there may do so again.
  void keepYoung(std::string_view dir);
  std::vector<Young>::iterator young(std::string_view dir);
  // The file of a value was not there.
  void awaitFile(const CgroupValue& update);
  // Forgets those values of a cgroup for which `concerned` is true and whose file says something else.
  bool forgetChanged(std::string_view dir, Values& values,
                     const std::function<bool(CgroupFile)>& concerned);
  CachedValue* cached(const CgroupValue& update);
  void forget(const CgroupValue& update);
  bool fresh(const CgroupValue& update, CgroupVersion version);
  void remember(const CgroupValue& update);
  Result<UpdateOutcome> writeFile(const FileUpdate& update);
  // What the second pass of a leveled update is to do, and what the first found in the file.
  struct Tightening {
    const CgroupUpdate* update = nullptr;
    std::string current;
    bool read = false;
  };
  // Writes `value` unless the file has it: `current`, where that was read just now.
  Result<UpdateOutcome> writeIfDifferent(const CgroupValue& update, std::string_view value,
                                         Caching caching, const std::string* current = nullptr);
  // First pass for one update; true when it needs no second pass, for which `left` is filled in else.
  bool loosen(const CgroupValue& update, Caching caching, BatchResult& result, Tightening& left);
  void updateOne(const CgroupValue& update, Caching caching, BatchResult& result,
                 const std::string* current = nullptr);
  Result<UpdateOutcome> apply(const CgroupValue& update, Caching caching,
                              const std::string* current);
  void logFailure(const CgroupValue& update, const Error& error);
  // Whether a failure of that key is to be logged: once a minute.
  bool worthLogging(const std::string& key);

  const Host& host_;
  const Clock& clock_;
  Options options_;
  AuditRing& audit_;
  Observer observer_;
  // By directory, so that a value is found without making a path of it.
  std::unordered_map<std::string, Values, TextHash, std::equal_to<>> cache_;
  std::vector<Young> young_;
  std::function<void()> onYoung_;
  std::unordered_map<std::string, Cached> files_;      // those of no cgroup, by path
  std::unordered_map<std::string, Contest> contests_;  // by path
  std::string path_, current_, key_;                   // keep their memory between calls
  std::vector<Tightening> second_;                     // so does this
  OnFight onFight_;
  std::uint64_t forgotten_ = 0;
  std::unordered_map<CgroupFile, bool> supportedInKubepods_;
  std::unordered_map<std::string, SteadyTime> failures_;  // last logged: once a minute is enough
};

// How a first pass treats a file, given what is in it and what is wanted: the value to write now,
// or nullopt when nothing may be written before the children have moved. An error when either
// cannot be read.
bool isMergeable(CgroupFile file);
Result<std::optional<std::string>> mergedValue(CgroupFile file, CgroupVersion version,
                                               std::string_view current, std::string_view wanted);

}  // namespace koord::koordlet
