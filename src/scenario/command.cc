#include "scenario/command.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/file.h"
#include "cel/library/compiled_regex.h"
#include "scenario/http_environment.h"
#include "scenario/report.h"
#include "scenario/report_html.h"

namespace koord::scenario {
namespace {

// A test with one of its sets of inputs.
struct Job {
  const Test* test;
  std::size_t inputs;
};

std::string fullName(const Job& job) {
  return (job.test->folder() / titleOf(*job.test, job.inputs)).string();
}

Result<std::vector<Test>> readTests(const std::vector<std::string>& paths) {
  const auto files = findTestFiles(paths.empty() ? std::vector<std::string>{"."} : paths);
  if (!files) return fail(files.error());
  std::vector<Test> tests;
  std::string problems;
  for (const auto& file : *files) {
    auto read = readTestFile(file);
    if (read) {
      std::move(read->begin(), read->end(), std::back_inserter(tests));
    } else {
      problems += (problems.empty() ? "" : "\n") + read.error().message;
    }
  }
  if (!problems.empty()) return fail(ErrorCode::Invalid, std::move(problems));
  return tests;
}

Result<std::vector<Job>> jobsOf(const std::vector<Test>& tests, const std::string& filter) {
  const auto pattern = cel::compileRegex(filter);
  if (!pattern)
    return fail(ErrorCode::Invalid,
                fmt::format("--filter {}: {}", filter, pattern.error().message));
  std::vector<Job> jobs;
  for (const auto& test : tests) {
    const std::size_t sets = std::max<std::size_t>(1, test.inputs.size());
    for (std::size_t i = 0; i < sets; ++i) {
      if (re2::RE2::PartialMatch(fullName({&test, i}), **pattern)) jobs.push_back({&test, i});
    }
  }
  return jobs;
}

class Run {
 public:
  Run(const TestCommandOptions& options, std::vector<Job> jobs)
      : options_(options), jobs_(std::move(jobs)), results_(jobs_.size()) {
    report_.verbose = options.verbose;
    report_.colour = isatty(STDOUT_FILENO) != 0;
  }

  std::vector<TestResult> all() {
    std::vector<std::size_t> together, alone;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      // Tests with separate clusters cannot conflict.
      const bool apart =
          jobs_[i].test->concurrent || (!options_.useCluster && !jobs_[i].test->hasProcesses());
      (apart ? together : alone).push_back(i);
    }
    work(together, std::max(1U, options_.parallel));
    work(alone, 1);
    std::vector<TestResult> results;
    for (auto& result : results_) results.push_back(*std::move(result));
    return results;
  }

 private:
  void work(const std::vector<std::size_t>& jobs, unsigned workers) {
    std::atomic<std::size_t> next = 0;
    const auto worker = [&] {
      for (;;) {
        const std::size_t i = next++;
        if (i >= jobs.size()) return;
        finish(jobs[i], stopped_ ? skipped(jobs_[jobs[i]]) : run(jobs[i]));
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::min<std::size_t>(workers, jobs.size()); ++i)
      threads.emplace_back(worker);
    worker();
  }

  static TestResult skipped(const Job& job) {
    TestResult result;
    result.file = job.test->file;
    result.name = titleOf(*job.test, job.inputs);
    result.status = TestResult::Status::Skipped;
    return result;
  }

  TestResult run(std::size_t index) {
    const Job& job = jobs_[index];
    if (job.test->skip) return skipped(job);
    auto environment =
        options_.useCluster ? connectTo(options_.kubeconfig) : options_.embedded(*job.test);
    if (!environment) {
      TestResult result = skipped(job);
      result.status = TestResult::Status::Failed;
      result.error = environment.error().message;
      return result;
    }
    RunOptions options;
    options.timeouts = options_.timeouts;
    options.testId = static_cast<std::int64_t>(index) + 1;
    return runTestToEnd(**environment, *job.test, job.inputs, options);
  }

  // Prints finished results, in the order of the jobs.
  void finish(std::size_t index, TestResult result) {
    std::lock_guard lock(mutex_);
    if (result.stopsRun || (options_.failFast && result.failed())) stopped_ = true;
    results_[index] = std::move(result);
    for (; printed_ < results_.size() && results_[printed_]; ++printed_) {
      const auto text = describe(*results_[printed_], report_);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
    std::fflush(stdout);
  }

  const TestCommandOptions& options_;
  std::vector<Job> jobs_;
  ReportOptions report_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::vector<std::optional<TestResult>> results_;  // guarded by mutex_
  std::size_t printed_ = 0;                         // guarded by mutex_
};

int refuse(const std::string& problem) {
  fmt::print(stderr, "{}\n", problem);
  return 2;
}

}  // namespace

int runTestCommand(const TestCommandOptions& options) {
  const auto tests = readTests(options.paths);
  if (!tests) return refuse(tests.error().message);
  auto jobs = jobsOf(*tests, options.filter);
  if (!jobs) return refuse(jobs.error().message);
  if (jobs->empty()) return refuse("no test matches --filter " + options.filter);
  if (options.list) {
    for (const auto& job : *jobs) fmt::print("{}\n", fullName(job));
    return 0;
  }
  if (!options.useCluster && !options.embedded)
    return refuse("--kubeconfig is required: this program has no embedded cluster");
  const auto start = std::chrono::steady_clock::now();
  Run run(options, *std::move(jobs));
  const auto results = run.all();
  fmt::print("{} in {:.1f} s\n", summary(results),
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (!options.junitFile.empty()) {
    const auto written = writeFileAtomic(options.junitFile, toJUnit(results), 0644);
    if (!written) return refuse(written.error().message);
  }
  if (!options.htmlFile.empty()) {
    const auto written = writeFileAtomic(options.htmlFile, toHtml(results), 0644);
    if (!written) return refuse(written.error().message);
  }
  const bool failed =
      std::any_of(results.begin(), results.end(), [](const auto& r) { return r.failed(); });
  return failed ? 1 : 0;
}

}  // namespace koord::scenario
