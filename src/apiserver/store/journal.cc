#include <condition_variable>
#include <mutex>
#include <thread>

#include "apiserver/store/storage.h"

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
      wake = queue_.empty();
      queue_.push_back(std::move(change));
    }
    if (wake) wake_.notify_one();
  }

 private:
  // What is queued when the journal is destroyed is still written.
  void run() {
    std::vector<Change> batch;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        batch.swap(queue_);
      }
      auto applied = storage_->apply(batch);
      Result<std::uint64_t> outcome = batch.back().version;
      if (!applied) outcome = fail(std::move(applied.error()));
      batch.clear();
      executor_.post([callback = onDurable_, outcome = std::move(outcome)] {
        if (*callback) (*callback)(outcome);
      });
      if (!applied) return;
    }
  }

  Executor& executor_;
  std::unique_ptr<Storage> storage_;
  std::shared_ptr<OnDurable> onDurable_;  // emptied on the executor when the journal goes
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Change> queue_;  // guarded by mutex_
  bool stopping_ = false;      // guarded by mutex_
  std::thread thread_;
};

class InlineJournal final : public Journal {
 public:
  InlineJournal(Executor& executor, std::unique_ptr<Storage> storage, OnDurable onDurable)
      : executor_(executor),
        storage_(std::move(storage)),
        onDurable_(std::make_shared<OnDurable>(std::move(onDurable))) {}
  ~InlineJournal() override {
    flush();
    *onDurable_ = nullptr;
  }

  void append(Change change) override {
    queue_.push_back(std::move(change));
    if (queue_.size() > 1) return;
    executor_.post([callback = onDurable_, this] {
      if (*callback) flush();
    });
  }

 private:
  void flush() {
    if (queue_.empty() || failed_) return;
    auto applied = storage_->apply(queue_);
    const auto version = queue_.back().version;
    queue_.clear();
    failed_ = !applied;
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
