#pragma once

// The only writer of cgroup files. Each strategy and hook passes its wanted values in every round.
// The executor writes only values that differ, reads each file again at least once a minute
// (another process may have changed it), keeps parent and child limits consistent while both
// change, and records each change. It reads the files of new cgroups much more often
// (repairNewCgroups), because the runtime and kubelet may still write there.
//
// Values have the format of cgroup v1 ("1024" shares, quota "-1") on all hosts.

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
  std::string_view reason;  // for the audit; must outlive the update, such as a literal
};

// The same without owning its texts: most values that are passed each second are in force already.
struct CgroupValue {
  CgroupFile file;
  std::string_view dir, value, reason;
  CgroupValue(CgroupFile itsFile, std::string_view itsDir, std::string_view itsValue,
              std::string_view itsReason)
      : file(itsFile), dir(itsDir), value(itsValue), reason(itsReason) {}
  CgroupValue(const CgroupUpdate& update)
      : CgroupValue(update.file, update.dir, update.value, update.reason) {}
};

// Values in the order in which they were added. clear() keeps their memory, so a list that is
// rebuilt in each round allocates none.
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

// A file outside of cgroups: of resctrl, /proc/sys, /sys.
struct FileUpdate {
  std::string path;
  std::string value;
  std::string reason;
  std::string type = "default";  // for the metric, "resctrl-schema"
  // Returns true if a file with the content `current` has the value already. Null compares texts.
  bool (*hasValue)(std::string_view current, std::string_view value) = nullptr;
  std::string part = {};  // the name of the setting, if one file holds several
};

enum class UpdateOutcome {
  Written,
  Unchanged,    // the file has the value already, or had it when last read
  Unsupported,  // this kernel or cgroup version does not have the file
  Gone,         // the cgroup does not exist
  InConflict,   // another process keeps changing it back; left alone for a while
};

class ResourceExecutor {
 public:
  struct Options {
    Duration forceUpdate = std::chrono::seconds(60);  // a file is read again after this
    Duration cacheExpiry = std::chrono::minutes(2);
  };
  // Called for each write attempt: what (the cgroup file's name or a FileUpdate's type), how long
  // it took and whether it worked.
  using Observer = std::function<void(std::string_view type, bool ok, Duration took)>;

  ResourceExecutor(const Host& host, const Clock& clock, Options options, AuditRing& audit);

  void setObserver(Observer observer) { observer_ = std::move(observer); }

  enum class Caching {
    Yes,
    No,          // the file is read in every round
    ForceWrite,  // as No, and written even if another process keeps changing it
  };
  // Returns an error if the value is out of range or the kernel refuses it. The caller logs it.
  Result<UpdateOutcome> update(const CgroupValue& update, Caching caching = Caching::Yes);
  struct BatchResult {
    int written = 0;
    int failed = 0;  // refused by the kernel; logged at most once a minute per file
  };
  // Applies updates that are independent of each other.
  BatchResult updateBatch(std::span<const CgroupUpdate> updates, Caching caching = Caching::Yes);
  // Applies levels from top (QoS class) to bottom (container). First pass, top down: writes the
  // values that grow, so that a parent is never tighter than its children; cpusets become the union
  // of old and new. Second pass, bottom up: writes the final values.
  BatchResult updateLeveled(std::span<const std::span<const CgroupUpdate>> levels,
                            Caching caching = Caching::Yes);
  BatchResult updateLeveled(std::span<const std::vector<CgroupUpdate>> levels,
                            Caching caching = Caching::Yes);

  // Updates one file outside of cgroups; Gone if it does not exist. Logs failures as those of
  // cgroups.
  Result<UpdateOutcome> updateFile(const FileUpdate& update, Caching caching = Caching::Yes);
  // Called when a file outside of cgroups was created again: forgets all of its settings.
  void forgetFile(const std::string& path);
  // Writes thread ids to a file that takes one id per write. Threads that have ended are not an
  // error. Returns how many ids the kernel accepted.
  Result<int> moveTasks(const std::string& path, std::span<const int> ids,
                        const std::string& reason);

  // Called when another process may have changed a file. Reads it; if it differs from the last
  // written value, forgets that value, so that the next update writes it again. Returns true then.
  bool changed(const std::string& path);
  // Called when a cgroup's directory (full path) was created or removed.
  void forgetDir(const std::string& path);
  // Called when any file may have changed.
  void forgetAll();
  // How many values these functions have forgotten.
  std::uint64_t forgotten() const { return forgotten_; }

  // Reads the files of new cgroups, as `changed` does. Returns true if another process changed one.
  // nextRepair() is the time until the next call; nullopt if there is no new cgroup.
  bool repairNewCgroups();
  std::optional<Duration> nextRepair() const;
  // Sets a function that is called when the first cgroup becomes new.
  void onNewCgroup(std::function<void()> fn) { onNewCgroup_ = std::move(fn); }

  // Called once each time that the executor yields to another process that keeps changing a value
  // back.
  using OnConflict = std::function<void(std::string_view file, std::string_view dir)>;
  void onConflict(OnConflict fn) { onConflict_ = std::move(fn); }
  // The contested values: [{"cgroup", "file", "ours", "theirs", "until"}].
  json::value conflictsView() const;

  // Forgets values that were not passed for a while. Call about once a minute.
  void collectGarbage();
  std::size_t cacheSize() const;

  // Returns true if the kernel has the file in that cgroup.
  bool supported(CgroupFile file, std::string_view dir);

 private:
  struct Cached {
    std::string value;
    SteadyTime at;
  };
  struct CachedValue : Cached {
    CgroupFile file;
    bool missing = false;  // true if the cgroup exists and the file does not yet
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  // A conflict with another writer of a file, as seen from the file's content.
  struct Conflict {
    std::string dir, file;
    std::string ours, theirs;
    int lost = 0;  // how often our value was overwritten since `since`
    SteadyTime since{};
    SteadyTime restUntil{};
    SteadyTime at{};  // when last read
  };
  // Accounts for the content of a file. Returns true if the file is to be left alone.
  bool isInConflict(const CgroupValue& update, CgroupVersion version, const std::string& path,
                    std::string_view current, Caching caching);

  using Values = std::vector<CachedValue>;
  struct NewCgroup {
    std::string dir;
    SteadyTime firstSeen{};  // when a value for it was first passed
    SteadyTime since{};      // that, or when another process last changed one of its values
    SteadyTime looked{};
  };
  void addNewCgroup(std::string_view dir);
  // Called when a value of a new cgroup was repaired: the other writer may write again.
  void keepNewCgroup(std::string_view dir);
  std::vector<NewCgroup>::iterator newCgroup(std::string_view dir);
  // Called when the file of a value does not exist.
  void awaitFile(const CgroupValue& update);
  // Forgets the values of a cgroup for which `concerned` returns true and whose file differs.
  bool forgetChanged(std::string_view dir, Values& values,
                     const std::function<bool(CgroupFile)>& concerned);
  CachedValue* cached(const CgroupValue& update);
  void forget(const CgroupValue& update);
  bool fresh(const CgroupValue& update, CgroupVersion version);
  void remember(const CgroupValue& update);
  Result<UpdateOutcome> writeFile(const FileUpdate& update);
  // An update for the second pass of a leveled update, and the content that the first pass read.
  struct Tightening {
    const CgroupUpdate* update = nullptr;
    std::string current;
    bool read = false;
  };
  // Writes `value` unless the file has it. `current`: the content, if it was read just now.
  Result<UpdateOutcome> writeIfDifferent(const CgroupValue& update, std::string_view value,
                                         Caching caching, const std::string* current = nullptr);
  // First pass for one update. Returns true if it needs no second pass; else fills in `left` for
  // it.
  bool loosen(const CgroupValue& update, Caching caching, BatchResult& result, Tightening& left);
  void updateOne(const CgroupValue& update, Caching caching, BatchResult& result,
                 const std::string* current = nullptr);
  Result<UpdateOutcome> apply(const CgroupValue& update, Caching caching,
                              const std::string* current);
  void logFailure(const CgroupValue& update, const Error& error);
  // Returns true if a failure of that key is to be logged: once a minute.
  bool shouldLog(const std::string& key);

  const Host& host_;
  const Clock& clock_;
  Options options_;
  AuditRing& audit_;
  Observer observer_;
  // By directory, so that a look-up needs no path.
  std::unordered_map<std::string, Values, TextHash, std::equal_to<>> cache_;
  std::vector<NewCgroup> newCgroups_;
  std::function<void()> onNewCgroup_;
  std::unordered_map<std::string, Cached> files_;        // files outside of cgroups, by path
  std::unordered_map<std::string, Conflict> conflicts_;  // by path
  std::string path_, current_, key_;                     // keep their memory between calls
  std::vector<Tightening> second_;                       // keeps its memory, too
  OnConflict onConflict_;
  std::uint64_t forgotten_ = 0;
  std::unordered_map<CgroupFile, bool> supportedInKubepods_;
  std::unordered_map<std::string, SteadyTime> failures_;  // last logged: once a minute is enough
};

// The value that a first pass writes, given a file's current and wanted value; nullopt if nothing
// may be written before the children have changed. An error if either value is malformed.
bool isMergeable(CgroupFile file);
Result<std::optional<std::string>> mergedValue(CgroupFile file, CgroupVersion version,
                                               std::string_view current, std::string_view wanted);

}  // namespace koord::koordlet
