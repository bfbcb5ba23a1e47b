#include "scenario/runner.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/time.h"
#include "scenario/operation_rules.h"
#include "scenario/operations.h"

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;

constexpr api::ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};

// A namespace name from a test's name: "scenario-<name>-<number>".
std::string namespaceName(std::string_view test, std::int64_t number) {
  constexpr std::size_t kLongest = 40;
  std::string name;
  for (const char c : test.substr(0, kLongest)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += fine ? c : upper ? static_cast<char>(c + 32) : '-';
  }
  return fmt::format("scenario-{}-{}", name, number);
}

class TestRun {
 public:
  TestRun(Environment& environment, const Test& test, std::size_t inputs, RunOptions options)
      : environment_(environment),
        test_(test),
        inputs_(inputs),
        options_(std::move(options)),
        resolver_(environment),
        operations_(environment, resolver_),
        timeouts_(over(options_.timeouts, test.timeouts)) {}

  Task<TestResult> run();

 private:
  // What a step leaves for the cleanup at the end.
  struct Leftover {
    std::size_t step;
    std::vector<ObjectId> created;
    Bindings bindings;
  };

  Result<Bindings> startBindings() const;
  Task<Result<>> enterNamespace();
  Task<Result<bool>> createNamespace(std::string name, json::value object);
  Task<void> runStep(std::size_t index);
  // Runs the operations in order; stops at a failure if `stop` is set. Returns the bindings at the
  // end.
  Task<Bindings> runBlock(const std::vector<Operation>& operations, OperationContext context,
                          bool stop, std::vector<OperationResult>& results,
                          std::vector<ObjectId>* created);
  Task<void> cleanUp();
  OperationContext contextOf(const Step& step, Bindings bindings) const;

  Environment& environment_;
  const Test& test_;
  std::size_t inputs_;
  RunOptions options_;
  TypeResolver resolver_;
  Operations operations_;
  Timeouts timeouts_;
  Bindings bindings_;
  bool ownsNamespace_ = false;
  std::vector<Leftover> leftovers_;
  TestResult result_;
};

Result<Bindings> TestRun::startBindings() const {
  Bindings bindings(environment_.executor());
  bindings = bindings.with("test", json::object{{"id", options_.testId},
                                                {"scenarioId", inputs_ + 1},
                                                {"metadata", test_.metadata}});
  if (inputs_ < test_.inputs.size()) {
    auto more = evaluateBindings(test_.inputs[inputs_].bindings, std::move(bindings));
    if (!more) return more;
    bindings = *std::move(more);
  }
  return bindings;
}

// Returns true if it was created, false if it already existed.
Task<Result<bool>> TestRun::createNamespace(std::string name, json::value object) {
  auto& metadata = object.get_object()["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata.get_object()["name"] = name;
  kube::Request request = kube::makeRequest(kube::Verb::Create, kNamespaces);
  request.body = toJson(object);
  auto task = operations_.call(std::move(request));
  const auto reply = co_await task;
  if (reply) co_return true;
  if (reply.error().code == ErrorCode::AlreadyExists) co_return false;
  co_return fail(Error(reply.error()).within("namespace " + name));
}

Task<Result<>> TestRun::enterNamespace() {
  json::value shape{{"apiVersion", "v1"}, {"kind", "Namespace"}};
  if (test_.namespaceTemplate) {
    auto rendered = render(*test_.namespaceTemplate, bindings_);
    if (!rendered) co_return fail(std::move(rendered.error()).within("spec.namespaceTemplate"));
    if (!rendered->is_object())
      co_return fail(ErrorCode::Invalid, "spec.namespaceTemplate: must be an object");
    for (auto& member : rendered->get_object()) shape.get_object()[member.key()] = member.value();
  }
  auto given = renderText(test_.namespace_, bindings_);
  if (!given) co_return fail(std::move(given.error()).within("spec.namespace"));
  std::string fixed = *std::move(given);
  if (fixed.empty()) fixed = textAt(shape, "metadata", "name");
  constexpr std::int64_t kTries = 1000;
  for (std::int64_t i = 0; i < kTries; ++i) {
    const std::string name =
        !fixed.empty() ? fixed : namespaceName(test_.name, options_.testId + i);
    auto creating = createNamespace(name, shape);
    const auto created = co_await creating;
    if (!created) co_return fail(created.error());
    if (!*created && fixed.empty()) continue;
    ownsNamespace_ = *created;
    result_.namespace_ = name;
    bindings_ = bindings_.with("namespace", json::string(name));
    co_return Result<>{};
  }
  co_return fail(ErrorCode::AlreadyExists,
                 "no free name for a namespace; delete the namespaces of old test runs");
}

OperationContext TestRun::contextOf(const Step& step, Bindings bindings) const {
  OperationContext context;
  context.namespace_ = result_.namespace_;
  context.folder = test_.folder();
  context.bindings = std::move(bindings);
  context.timeouts = over(timeouts_, step.timeouts);
  context.render = step.render.value_or(test_.render);
  context.propagationPolicy =
      step.propagationPolicy.empty() ? test_.propagationPolicy : step.propagationPolicy;
  return context;
}

Task<Bindings> TestRun::runBlock(const std::vector<Operation>& operations, OperationContext context,
                                 bool stop, std::vector<OperationResult>& results,
                                 std::vector<ObjectId>* created) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    context.id = static_cast<std::int64_t>(i) + 1;
    auto task = operations_.run(operations[i], context);
    auto outcome = co_await task;
    context.bindings = outcome.bindings;
    if (created) created->insert(created->end(), outcome.created.begin(), outcome.created.end());
    const bool failed = outcome.result.failed();
    results.push_back(std::move(outcome.result));
    if (failed && stop && !operations[i].continueOnError) break;
  }
  co_return context.bindings;
}

Task<void> TestRun::runStep(std::size_t index) {
  const Step& step = test_.steps[index];
  StepResult result;
  result.name = step.name.empty() ? fmt::format("step {}", index + 1) : step.name;
  result.description = step.description;
  Leftover leftover;
  leftover.step = index;
  const auto bindings = evaluateBindings(
      step.bindings,
      bindings_.with("step", json::object{{"id", static_cast<std::int64_t>(index) + 1}}));
  if (!bindings) {
    OperationResult problem;
    problem.name = "BINDINGS";
    problem.field = fmt::format("spec.steps[{}].bindings", index);
    problem.error = bindings.error().message;
    result.try_.push_back(std::move(problem));
    result_.steps.push_back(std::move(result));
    co_return;
  }
  OperationContext context = contextOf(step, *bindings);
  auto trying = runBlock(step.try_, context, true, result.try_, &leftover.created);
  context.bindings = co_await trying;
  if (result.failed()) {
    auto catching = runBlock(step.catch_, context, false, result.catch_, nullptr);
    auto after = co_await catching;
    auto catchingAll = runBlock(test_.catch_, context, false, result.catch_, nullptr);
    after = co_await catchingAll;
  }
  auto finishing = runBlock(step.finally, context, false, result.finally, nullptr);
  const auto after = co_await finishing;
  if (step.skipDelete.value_or(test_.skipDelete)) leftover.created.clear();
  leftover.bindings = after;
  leftovers_.push_back(std::move(leftover));
  result_.steps.push_back(std::move(result));
}

Task<void> TestRun::cleanUp() {
  if (test_.delayBeforeCleanup > Duration{}) {
    auto pause = sleepFor(environment_.executor(), test_.delayBeforeCleanup);
    co_await pause;
  }
  for (auto leftover = leftovers_.rbegin(); leftover != leftovers_.rend(); ++leftover) {
    const Step& step = test_.steps[leftover->step];
    const OperationContext context = contextOf(step, leftover->bindings);
    for (auto id = leftover->created.rbegin(); id != leftover->created.rend(); ++id) {
      auto removing = operations_.remove(*id, context.propagationPolicy, *context.timeouts.cleanup);
      auto removed = co_await removing;
      if (removed.failed()) result_.cleanup.push_back(std::move(removed));
    }
    auto cleaning =
        runBlock(step.cleanup, context, false, result_.steps[leftover->step].cleanup, nullptr);
    const auto after = co_await cleaning;
  }
  if (!ownsNamespace_ || test_.skipDelete) co_return;
  ObjectId id{"v1", "Namespace", {"", result_.namespace_}};
  if (test_.fastNamespaceDeletion) {
    kube::Request request = kube::makeRequest(kube::Verb::Delete, kNamespaces, id.key);
    auto deleting = environment_.api().call(std::move(request));
    const auto deleted = co_await deleting;
    co_return;
  }
  auto removing = operations_.remove(std::move(id), "Background", *timeouts_.cleanup);
  auto removed = co_await removing;
  if (removed.failed()) result_.cleanup.push_back(std::move(removed));
}

Task<TestResult> TestRun::run() {
  result_.file = test_.file;
  result_.name = titleOf(test_, inputs_);
  result_.description = test_.description;
  if (test_.skip) {
    result_.status = TestResult::Status::Skipped;
    co_return std::move(result_);
  }
  const auto start = environment_.executor().steadyNow();
  auto bindings = startBindings();
  if (bindings) {
    bindings_ = *std::move(bindings);
    auto entering = enterNamespace();
    const auto entered = co_await entering;
    if (entered) {
      auto more = evaluateBindings(test_.bindings, bindings_);
      if (more) {
        bindings_ = *std::move(more);
      } else {
        result_.error = more.error().message;
      }
    } else {
      result_.error = entered.error().message;
    }
  } else {
    result_.error = bindings.error().message;
  }
  for (std::size_t i = 0; i < test_.steps.size() && result_.error.empty(); ++i) {
    auto task = runStep(i);
    co_await task;
    if (result_.steps.back().failed()) break;
  }
  auto cleaning = cleanUp();
  co_await cleaning;
  const bool failed = !result_.error.empty() || !result_.cleanup.empty() ||
                      std::any_of(result_.steps.begin(), result_.steps.end(),
                                  [](const StepResult& step) { return step.failed(); });
  if (failed) result_.status = TestResult::Status::Failed;
  result_.stopsRun = failed && test_.failFast;
  result_.elapsed = environment_.executor().steadyNow() - start;
  co_return std::move(result_);
}

Task<void> storeResult(Environment* environment, const Test* test, std::size_t inputs,
                       RunOptions options, std::optional<TestResult>* result) {
  auto task = runTest(*environment, *test, inputs, std::move(options));
  *result = co_await task;
}

}  // namespace

bool StepResult::failed() const {
  for (const auto* block : {&try_, &catch_, &finally, &cleanup}) {
    for (const auto& operation : *block) {
      if (operation.failed()) return true;
    }
  }
  return false;
}

Timeouts defaultTimeouts() {
  return {5s, 30s, 30s, 15s, 30s, 5s};
}

std::string titleOf(const Test& test, std::size_t inputs) {
  if (inputs >= test.inputs.size()) return test.name;
  const auto& name = test.inputs[inputs].name;
  return fmt::format("{}/{}", test.name, name.empty() ? std::to_string(inputs + 1) : name);
}

Task<TestResult> runTest(Environment& environment, const Test& test, std::size_t inputs,
                         RunOptions options) {
  TestRun run(environment, test, inputs, std::move(options));
  auto task = run.run();
  auto result = co_await task;
  co_return result;
}

TestResult runTestToEnd(Environment& environment, const Test& test, std::size_t inputs,
                        const RunOptions& options, Duration limit) {
  std::optional<TestResult> result;
  TaskGroup tasks;
  tasks.spawn(storeResult(&environment, &test, inputs, options, &result));
  if (environment.advanceUntil([&] { return result.has_value(); }, limit))
    return *std::move(result);
  TestResult unfinished;
  unfinished.file = test.file;
  unfinished.name = titleOf(test, inputs);
  unfinished.status = TestResult::Status::Failed;
  unfinished.error = fmt::format("still running after {}", formatDuration(limit));
  return unfinished;
}

}  // namespace koord::scenario
