#include "console/feed/table.h"

#include <gtest/gtest.h>

#include "api/core.h"
#include "apiserver/embedded_cluster.h"
#include "console/rows/rows.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

// A watch that is refused, or that the test can end.
class ForeignWatch final : public kube::Watch {
 public:
  ForeignWatch(Executor& executor, std::function<void(Error)> onClosed, ForeignWatch*& open)
      : executor_(executor), onClosed_(std::move(onClosed)), open_(open) {
    open_ = this;
  }
  ~ForeignWatch() override {
    executor_.cancel(timer_);
    if (open_ == this) open_ = nullptr;
  }
  void endWith(Error error) {
    timer_ = executor_.runAfter(
        {}, [onClosed = onClosed_, error = std::move(error)] { onClosed(error); });
  }
  std::unique_ptr<kube::Watch> inner;

 private:
  Executor& executor_;
  const std::function<void(Error)> onClosed_;
  ForeignWatch*& open_;
  TimerId timer_ = 0;
};

// A server whose roles give the verb list always, and watch as long as the test says so.
class WatchRightsApi final : public kube::Api {
 public:
  WatchRightsApi(kube::Api& api, Executor& executor) : api_(api), executor_(executor) {}

  Task<Result<std::string>> call(kube::Request request) override {
    return api_.call(std::move(request));
  }
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override {
    auto watch = std::make_unique<ForeignWatch>(executor_, sink.onClosed, open_);
    if (granted_)
      watch->inner = api_.watch(std::move(request), std::move(sink));
    else
      watch->endWith({ErrorCode::Forbidden, "cannot watch nodes", {}});
    return watch;
  }
  // Also ends the watch that runs, as servers do after some minutes.
  void grant(bool watch) {
    granted_ = watch;
    if (open_) open_->endWith({});
  }

 private:
  kube::Api& api_;
  Executor& executor_;
  bool granted_ = true;
  ForeignWatch* open_ = nullptr;
};

class TableTest : public testing::Test {
 protected:
  TableTest() { putNode("n1"); }
  void putNode(const std::string& name) {
    cluster_.put(api::Node::kType,
                 R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"("}})");
  }
  template <class T>
  static Result<std::optional<Row>> read(const kube::Received& received) {
    auto object = received.as<T>();
    if (!object) return fail(std::move(object.error()));
    return rowOf(*object);
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  WatchRightsApi api_{cluster_, loop_};
  Table table_{"nodes", api::Node::kType, read<api::Node>, api_, loop_, [] {}};
};

}  // namespace

TEST_F(TableTest, WhatMayBeListedButNotWatchedIsNotACompleteTable) {
  api_.grant(false);
  table_.start("");
  loop_.advance(5s);
  EXPECT_EQ(table_.access().state, Access::State::Forbidden);
  EXPECT_EQ(table_.access().message, "cannot watch nodes");
  EXPECT_TRUE(table_.settled());
  EXPECT_FALSE(table_.stale()) << "there are no rows that could be old";
  api_.grant(true);
  loop_.advance(2min);
  EXPECT_EQ(table_.access().state, Access::State::All);
  EXPECT_EQ(table_.rows().size(), 1u);
}

TEST_F(TableTest, RowsAreOldOnceTheWatchIsRefusedAndCurrentOnceItIsNot) {
  table_.start("");
  loop_.advance(5s);
  EXPECT_EQ(table_.access().state, Access::State::All);
  EXPECT_EQ(table_.rows().size(), 1u);
  EXPECT_FALSE(table_.stale());
  api_.grant(false);
  loop_.advance(5s);
  EXPECT_TRUE(table_.stale());
  EXPECT_EQ(table_.access().state, Access::State::Forbidden);
  EXPECT_EQ(table_.rows().size(), 1u);
  api_.grant(true);
  putNode("n2");
  loop_.advance(2min);
  EXPECT_FALSE(table_.stale());
  EXPECT_EQ(table_.access().message, "");
  EXPECT_EQ(table_.rows().size(), 2u);
}

TEST_F(TableTest, ANodeMetricIsARowFromItsFirstMeasurement) {
  cluster_.install(std::string(KOORD_DEPLOY) + "/crds/slo.koordinator.sh_nodemetrics.yaml");
  Table metrics{"metrics", api::NodeMetric::kType, read<api::NodeMetric>, api_, loop_, [] {}};
  const auto put = [&](const std::string& status) {
    cluster_.put(api::NodeMetric::kType, R"({"apiVersion": "slo.koordinator.sh/v1alpha1",
      "kind": "NodeMetric", "metadata": {"name": "n1"}, "spec": {}, "status": )" +
                                             status + "}");
    loop_.advance(1s);
    return metrics.rows().size();
  };
  metrics.start("");
  EXPECT_EQ(put("{}"), 0u);
  EXPECT_TRUE(metrics.settled());
  EXPECT_EQ(put(R"({"updateTime": "2026-01-01T00:00:00Z", "nodeMetric": {}})"), 1u);
  EXPECT_EQ(put("{}"), 0u);
}

}  // namespace koord::console
