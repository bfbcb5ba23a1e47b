#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "apiserver/store/storage.h"

// Group commit: while one batch is synced, which takes a disk some milliseconds, further changes
// gather and become the next batch. So a single writer waits for one sync, and a thousand writers
// share it. There is nothing to tune: batches grow with the latency of the disk.
//
// Failure: a failed batch is rolled back as a whole. Changes queued behind it may depend on it (a
// pod that is created and then bound) and are dropped, too, as are further changes until the store
// has reverted all of them and calls resume(). The store gets one version or one error; it needs no
// list.
//
// Destroying the journal writes the queue without callbacks: these changes were not acknowledged
// yet, and storing them anyway does no harm.

namespace koord::apiserver {
namespace {

class GroupJournal final : public Journal {
 public:
  GroupJournal(Executor& executor, std::unique_ptr<Storage> storage, OnDurable onDurable)
      : executor_(executor),
        storage_(std::move(storage)),
        onDurable_(std::make_shared<OnDurable>(std::move(onDurable))),
        thread_([this] { run(); }) {}

  ~GroupJournal() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    *onDurable_ = nullptr;
  }

  void append(Change change) override {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (failed_) return;
      wake = queue_.empty();
      queue_.push_back(std::move(change));
    }
    if (wake) wake_.notify_one();
  }

  void resume() override {
    const std::lock_guard lock(mutex_);
    failed_ = false;
  }

  void probe(OnProbed onProbed) override {
    {
      const std::lock_guard lock(mutex_);
      onProbed_ = std::move(onProbed);
    }
    wake_.notify_one();
  }

 private:
  // Changes that are queued when the journal is destroyed are still written.
  void run() {
    std::vector<Change> batch;
    while (true) {
      OnProbed onProbed;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty() || onProbed_; });
        onProbed = std::exchange(onProbed_, nullptr);
        if (!onProbed && queue_.empty()) return;
        batch.swap(queue_);
      }
      if (!batch.empty()) write(batch);
      if (onProbed) tell(std::move(onProbed), storage_->probe());
    }
  }

  void write(std::vector<Change>& batch) {
    auto applied = storage_->apply(batch);
    Result<std::uint64_t> outcome = batch.back().version;
    batch.clear();
    if (!applied) {
      outcome = fail(std::move(applied.error()));
      const std::lock_guard lock(mutex_);
      failed_ = true;
      queue_.clear();
    }
    executor_.post([callback = onDurable_, outcome = std::move(outcome)] {
      if (*callback) (*callback)(outcome);
    });
  }

  void tell(OnProbed onProbed, Result<> outcome) {
    executor_.post(
        [alive = onDurable_, onProbed = std::move(onProbed), outcome = std::move(outcome)] {
          if (*alive) onProbed(outcome);
        });
  }

  Executor& executor_;
  std::unique_ptr<Storage> storage_;
  std::shared_ptr<OnDurable> onDurable_;  // emptied on the executor by the destructor
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Change> queue_;  // guarded by mutex_, like the rest
  OnProbed onProbed_;          // a requested probe
  bool failed_ = false;        // changes are dropped
  bool stopping_ = false;
  std::thread thread_;
};

class InlineJournal final : public Journal {
 public:
  InlineJournal(Executor& executor, std::unique_ptr<Storage> storage, OnDurable onDurable)
      : executor_(executor),
        storage_(std::move(storage)),
        onDurable_(std::make_shared<OnDurable>(std::move(onDurable))) {}
  // Queued changes are still written, without callbacks.
  ~InlineJournal() override {
    *onDurable_ = nullptr;
    flush();
  }

  void append(Change change) override {
    if (failed_) return;
    queue_.push_back(std::move(change));
    if (queue_.size() > 1) return;
    executor_.post([callback = onDurable_, this] {
      if (*callback) flush();
    });
  }

  void resume() override { failed_ = false; }

  void probe(OnProbed onProbed) override {
    executor_.post([callback = onDurable_, this, onProbed = std::move(onProbed)] {
      if (*callback) onProbed(storage_->probe());
    });
  }

 private:
  void flush() {
    if (queue_.empty()) return;
    auto applied = storage_->apply(queue_);
    const auto version = queue_.back().version;
    queue_.clear();
    failed_ = !applied;
    if (!*onDurable_) return;
    (*onDurable_)(applied ? Result<std::uint64_t>(version) : fail(std::move(applied.error())));
  }

  Executor& executor_;
  std::unique_ptr<Storage> storage_;
  std::shared_ptr<OnDurable> onDurable_;
  std::vector<Change> queue_;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<Journal> makeGroupJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                          Journal::OnDurable onDurable) {
  return std::make_unique<GroupJournal>(executor, std::move(storage), std::move(onDurable));
}

std::unique_ptr<Journal> makeInlineJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                           Journal::OnDurable onDurable) {
  return std::make_unique<InlineJournal>(executor, std::move(storage), std::move(onDurable));
}

}  // namespace koord::apiserver
