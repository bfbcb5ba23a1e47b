#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/flags/command.h"
#include "base/flags/nearest.h"

namespace koord::flags {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

struct ShellLine {
  ShellLine() {
    Command& up = commands.add("up", "Run a cluster");
    up.flags.integer("nodes", nodes, "Simulated nodes");
    up.flags.text("runtime", runtime, "How").oneOf({"process", "containerd"});
    up.flags.text("config", config, "A folder");
    up.flags.boolean("quiet", quiet, "Say nothing");
    Command& pod = commands.add("explain pod", "Say why");
    pod.arguments = "POD";
    pod.flags.text("namespace", namespace_, "Of the pod").shortName('n');
    pod.complete = [this](const std::vector<std::string>& given) {
      Completion completion;
      if (given.empty()) completion.candidates = {{namespace_ + "/web", ""}, {"other", ""}};
      return completion;
    };
    commands.add("explain gang", "Say how");
    commands.add("doctor", "Look at a cluster");
    commands.add("doctor node", "Look here").arguments = "FILE";
  }
  std::vector<std::string> words(const std::vector<std::string>& line) {
    const auto completion = commands.complete(line);
    files = completion.files;
    std::vector<std::string> words;
    for (const auto& candidate : completion.candidates) words.push_back(candidate.word);
    return words;
  }

  int nodes = 0;
  std::string runtime, config, namespace_;
  bool quiet = false, files = false;
  Commands commands{"prog", "Does things"};
};

TEST(CompletionTest, CommandsComeOneWordAtATime) {
  ShellLine line;
  EXPECT_THAT(line.words({""}), ElementsAre("up", "explain", "doctor"));
  EXPECT_THAT(line.words({"e"}), ElementsAre("explain"));
  EXPECT_THAT(line.words({"explain", ""}), ElementsAre("pod", "gang"));
  EXPECT_THAT(line.words({"doctor", "n"}), ElementsAre("node"));
  EXPECT_THAT(line.words({"nothing", ""}), IsEmpty());
  EXPECT_THAT(line.words({}), IsEmpty());
}

TEST(CompletionTest, FlagsAreThoseThatWereNotGiven) {
  ShellLine line;
  EXPECT_THAT(line.words({"up", "--quiet", "--"}),
              ElementsAre("--nodes", "--runtime", "--config", "--help"));
  EXPECT_THAT(line.words({"up", "--ru"}), ElementsAre("--runtime"));
  EXPECT_THAT(line.words({"up", "-"}), IsSupersetOf({"--nodes", "--runtime"}));
}

TEST(CompletionTest, ValuesAreThoseOfTheFlag) {
  ShellLine line;
  EXPECT_THAT(line.words({"up", "--runtime", ""}), ElementsAre("process", "containerd"));
  EXPECT_THAT(line.words({"up", "--runtime=c"}), ElementsAre("--runtime=containerd"));
  EXPECT_FALSE(line.files);
  EXPECT_THAT(line.words({"up", "--config", ""}), IsEmpty());
  EXPECT_TRUE(line.files);
  EXPECT_THAT(line.words({"up", "--nodes", ""}), IsEmpty());
  EXPECT_FALSE(line.files);
}

TEST(CompletionTest, ArgumentsSeeTheFlagsBeforeThem) {
  ShellLine line;
  for (const std::vector<std::string>& flag : std::vector<std::vector<std::string>>{
           {"-n", "a"}, {"-na"}, {"--namespace=a"}, {"--namespace", "a"}}) {
    std::vector<std::string> words{"explain", "pod"};
    words.insert(words.end(), flag.begin(), flag.end());
    words.emplace_back("a/");
    EXPECT_THAT(line.words(words), ElementsAre("a/web"));
  }
  EXPECT_THAT(line.words({"explain", "pod", "a/web", ""}), IsEmpty());
  EXPECT_THAT(line.words({"explain", "pod", "--", "-"}), Not(Contains("--namespace")));
}

TEST(CompletionTest, WrongFlagsAndValuesDoNoHarm) {
  ShellLine line;
  EXPECT_THAT(line.words({"up", "--nodes=x", "--wrong", "-z", "--runtime=", "--q"}),
              ElementsAre("--quiet"));
  line.words({"doctor", "node", ""});
  EXPECT_TRUE(line.files);
}

TEST(NearestNameTest, AFewLettersAreForgiven) {
  const std::vector<std::string> names = {"up", "status", "explain", "restore", "resume"};
  for (const auto& [wrong, near] :
       std::vector<std::pair<std::string, std::string>>{{"statsu", "status"},
                                                        {"explian", "explain"},
                                                        {"stat", "status"},
                                                        {"restor", "restore"},
                                                        {"ressume", "resume"},
                                                        {"u", "up"},
                                                        {"delete", ""},
                                                        {"", ""},
                                                        {std::string(1000, 's'), ""}})
    EXPECT_EQ(nearestName(wrong, names), near) << wrong;
}

}  // namespace
}  // namespace koord::flags
