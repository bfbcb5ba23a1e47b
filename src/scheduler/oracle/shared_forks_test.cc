#include "scheduler/oracle/shared_forks.h"

#include "scheduler/oracle/oracle_fixture.h"

namespace koord::scheduler::oracle::testing {
namespace {

using namespace std::chrono_literals;

// Questions to the scheduler of the fixture, with time and work of the test's own.
struct Sharing : testing::Asked {
  SteadyTime now{1h};
  ThreadWork work;
  bool absent = false;
  std::optional<SharedForks> forks;
  // A question, and what has become of it.
  struct Case {
    Question question;
    CompletePods pods;
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    std::optional<Result<SharedForks::Started>> started;
  };
  std::deque<Case> cases;

  explicit Sharing(std::size_t atOnce = 4) {
    forks.emplace([this] { return absent ? Askable{} : Askable{scheduler.get(), &seam, exists}; },
                  registry, atOnce,
                  SharedForks::Meter{[this] { return now; }, [this] { return work; }});
  }
  Case& add(std::string_view spec) {
    Case& c = cases.emplace_back(*readQuestion(simulationWith(spec)));
    forks->add({.asked = {&c.question, &c.pods},
                .cancelled = c.cancelled,
                .started = [&c](Result<SharedForks::Started> started) {
                  c.started.emplace(std::move(started));
                }});
    return c;
  }
  // The thread works for so long.
  void works(Duration time, std::uint64_t faults = 0) {
    now += time;
    work.cpu += time;
    work.faults += faults;
  }
  // Whether the question waits, how it was refused, or its answer.
  std::string outcome(Case& c) {
    if (!c.started) return "waits";
    if (!*c.started) return std::string(reasonOf(c.started->error().code));
    const std::atomic<bool> cancelled = false;
    const auto text = answerOf(std::move((*c.started)->answer), cancelled);
    return text ? *text : text.error().message;
  }
  std::vector<std::string> places(Case& c) {
    const auto answer = parseJson(outcome(c));
    return answer ? placesIn(memberOf(*answer, "status")) : std::vector<std::string>{"no answer"};
  }
};

std::string podsText(const std::string& name, const std::string& cpu = "1") {
  return "objects: [" + podText(name, cpu) + "]";
}

TEST(SharedForks, a_question_that_comes_alone_is_asked_at_once) {
  Sharing s;
  s.node(aNode("a"));
  auto& first = s.add(podsText("p"));
  s.forks->look();
  EXPECT_THAT(s.places(first), ElementsAre("p a"));
  s.works(1min);
  auto& second = s.add(podsText("q"));
  s.forks->look();
  EXPECT_THAT(s.places(second), ElementsAre("q a"));
}

TEST(SharedForks, questions_that_come_while_the_scheduler_works_share_a_fork) {
  Sharing s;
  s.node(aNode("a"));
  s.add(podsText("p"));
  s.forks->look();
  std::vector<Sharing::Case*> later;
  for (const char* name : {"q", "r", "s"}) {
    s.works(10ms, 1000);
    later.push_back(&s.add(podsText(name)));
    s.forks->look();
    EXPECT_EQ(s.outcome(*later.back()), "waits") << name;
  }
  s.works(200ms);  // 3,000 faults cost 6.3 ms, less than 4 % of this time
  s.forks->look();
  EXPECT_EQ(s.forks->forks(), 2u);
  EXPECT_THAT(s.places(*later[0]), ElementsAre("q a"));
  EXPECT_THAT(s.places(*later[1]), ElementsAre("r a"));
  EXPECT_THAT(s.places(*later[2]), ElementsAre("s a"));
}

TEST(SharedForks, while_the_scheduler_waits_for_work_no_question_waits) {
  Sharing s;
  s.node(aNode("a"));
  for (const char* name : {"p", "q", "r"}) {
    auto& question = s.add(podsText(name));
    s.forks->look();
    EXPECT_THAT(s.places(question), ElementsAre(std::string(name) + " a"));
    s.now += 10ms;
    s.work.cpu += 1ms;
    s.work.faults += 1000;
  }
  EXPECT_EQ(s.forks->forks(), 3u);
}

TEST(SharedForks, an_answer_knows_what_the_scheduler_received_before_the_question) {
  Sharing s;
  s.add(podsText("p"));
  s.forks->look();
  s.works(10ms, 1000);
  auto& waits = s.add(podsText("q"));
  s.forks->look();
  EXPECT_EQ(s.outcome(waits), "waits");
  s.node(aNode("new"));
  auto& asksAfterwards = s.add(podsText("r"));
  s.works(1s);
  s.forks->look();
  EXPECT_THAT(s.places(waits), ElementsAre("q new"));
  EXPECT_THAT(s.places(asksAfterwards), ElementsAre("r new"));
}

TEST(SharedForks, an_answer_is_that_of_a_fork_of_its_own) {
  Sharing s;
  for (const char* name : {"a", "b", "c"}) s.node(aNode(name));
  s.runs(aPod("runs").request("cpu", "3"), "a");
  const std::vector<std::string> questions = {podsText("p", "2"),
                                              podsText("big", "100"),
                                              "drainNodes: [a]",
                                              "objects: [" + deploymentText("many", 7, "1") + "]",
                                              "addNodes: [{count: 2, like: a}]",
                                              "fill: {}\n" + podsText("f", "1"),
                                              podsText("")};
  std::vector<std::string> own;
  for (const std::string& spec : questions) {
    const auto answer = s.ask(spec);
    own.push_back(answer ? toJson(*answer) : answer.error().message);
  }
  s.add(podsText("before"));
  s.forks->look();
  for (const std::string& spec : questions) s.add(spec);
  s.works(1s);
  s.forks->look();
  EXPECT_EQ(s.forks->forks(), 2u);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::string text = s.outcome(s.cases[i + 1]);
    const auto answer = parseJson(text);
    EXPECT_EQ(answer ? toJson(memberOf(*answer, "status")) : text, own[i]) << questions[i];
  }
}

TEST(SharedForks, a_question_waits_for_a_child_that_is_free) {
  Sharing s(2);
  s.node(aNode("a"));
  auto& first = s.add(podsText("p"));
  auto& second = s.add(podsText("q"));
  auto& third = s.add(podsText("r"));
  s.forks->look();
  EXPECT_EQ(s.forks->forks(), 1u);
  s.works(1s);
  auto& fourth = s.add(podsText("s"));
  s.forks->look();
  EXPECT_EQ(s.outcome(fourth), "waits");
  for (auto* ended : {&first, &second, &third}) {
    s.forks->look();
    EXPECT_EQ(s.outcome(fourth), "waits") << "the others of one fork still run";
    ended->started.reset();
  }
  s.forks->look();
  EXPECT_THAT(s.places(fourth), ElementsAre("s a"));
  s.works(1s);
  auto& fifth = s.add(podsText("t"));
  s.forks->look();
  EXPECT_THAT(s.places(fifth), ElementsAre("t a")) << "beside the fourth";
  s.works(1s);
  auto& tooLong = s.add(podsText("u"));
  auto& cancelled = s.add(podsText("v"));
  s.works(3s);
  *cancelled.cancelled = true;
  s.forks->look();
  EXPECT_EQ(s.outcome(tooLong), "waits");
  EXPECT_EQ(s.outcome(cancelled), "Cancelled");
  s.works(2s);
  s.forks->look();
  EXPECT_EQ(s.outcome(tooLong), "TooManyRequests");
  EXPECT_TRUE(s.forks->empty());
}

TEST(SharedForks, a_scheduler_that_is_gone_meanwhile_is_not_asked) {
  Sharing s;
  auto& question = s.add(podsText("p"));
  s.absent = true;
  s.forks->look();
  EXPECT_EQ(question.started->error().message, "the scheduler has not read the whole cluster yet");
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
