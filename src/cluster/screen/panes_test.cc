#include "cluster/screen/panes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "cluster/screen/columns.h"
#include "cluster/screen/object_rows.h"
#include "cluster/screen/screen_testing.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::pair<int, int> kSizes[] = {{12, 60}, {24, 80}, {50, 200}, {100, 300}};

Key pressed(char32_t character) {
  return {Key::Code::Character, character};
}

// A cluster on a screen.
struct Shown {
  explicit Shown(int rows = 24, int columns = 80, int pods = 40, std::string question = "")
      : panes(rows, columns, std::move(question)), objects(screenCluster(pods)) {
    summarize(objects, status);
    status.server = "https://127.0.0.1:6443";
    refresh();
  }
  void refresh() {
    panes.setStatus(status);
    panes.setRows(PaneKind::Nodes, nodeRows(status));
    panes.setRows(PaneKind::Pods, podRows(objects));
    panes.setRows(PaneKind::Moves, moveRows(objects));
    panes.setRows(PaneKind::Quotas, quotaRows(objects));
    panes.setRows(PaneKind::Events, eventRows(objects));
  }
  Wish type(std::string_view keys) {
    Wish last = Wish::None;
    for (const char key : keys) last = panes.handle(pressed(static_cast<unsigned char>(key)));
    return last;
  }
  Wish press(Key::Code code) { return panes.handle({code}); }
  std::string text() { return panes.draw(objects.now).text(); }
  std::string line(int row) { return panes.draw(objects.now).text(row); }

  Panes panes;
  Objects objects;
  ClusterStatus status;
};

TEST(PanesTest, EachPaneFitsEachSize) {
  for (const auto& [rows, columns] : kSizes) {
    Shown shown(rows, columns);
    for (const char* pane : {"1", "2", "3", "4", "5", "6", "?"}) {
      shown.type(pane);
      const Grid grid = shown.panes.draw(shown.objects.now);
      EXPECT_EQ(grid.rows(), rows);
      EXPECT_EQ(grid.columns(), columns);
      EXPECT_THAT(grid.text(0), HasSubstr("6 events")) << rows;
      EXPECT_NE(grid.text(rows - 1), "") << pane;
    }
  }
}

TEST(PanesTest, AnySizeIsNoCrash) {
  Shown shown(24, 80, 5);
  for (int rows = 0; rows < 14; ++rows)
    for (int columns = 0; columns < 40; columns += 3)
      for (const char* keys : {"1", "2", "3l", "6lll", "?", "3/po\n"}) {
        shown.panes.handle({Key::Code::Resize, 0, rows, columns});
        shown.type(keys);
        shown.press(Key::Code::Enter);
        shown.press(Key::Code::End);
        EXPECT_EQ(shown.panes.draw(shown.objects.now).rows(), rows);
        shown.press(Key::Code::Escape);
      }
}

TEST(PanesTest, ARowSaysWhatMattersAndHowOldItIs) {
  Shown shown(12, 60);
  shown.type("2");
  EXPECT_THAT(shown.line(1),
              testing::MatchesRegex("NODE .*STATE .*USED/CORES .*BATCH-CPU .*DATA.*"));
  EXPECT_THAT(shown.text(), HasSubstr("1.50/4"));
  EXPECT_THAT(shown.text(), HasSubstr(" 7s"));
  shown.type("3");
  EXPECT_THAT(shown.line(1), testing::MatchesRegex("POD .*STATE .*CPU/REQUEST .*DATA .*>"));
}

TEST(PanesTest, TheSelectionStaysOnItsObject) {
  Shown shown;
  shown.type("3");
  shown.press(Key::Code::Down);
  shown.press(Key::Code::Down);
  shown.press(Key::Code::Enter);
  ASSERT_TRUE(shown.panes.opened());
  EXPECT_EQ(shown.panes.opened()->name, "pod-002");
  shown.press(Key::Code::Escape);
  shown.objects.pods.erase(shown.objects.pods.begin());  // pod-000 ends
  shown.refresh();
  shown.press(Key::Code::Enter);
  EXPECT_EQ(shown.panes.opened()->name, "pod-002");
  shown.press(Key::Code::Escape);
  shown.objects.pods.erase(shown.objects.pods.begin() + 1);  // and the selected one
  shown.refresh();
  shown.press(Key::Code::Enter);
  EXPECT_EQ(shown.panes.opened()->name, "pod-003");
}

TEST(PanesTest, ScrollsToTheEndAndBack) {
  Shown shown(24, 80, 500);
  shown.type("3");
  EXPECT_THAT(shown.text(), HasSubstr("pod-000"));
  shown.press(Key::Code::End);
  EXPECT_THAT(shown.text(), HasSubstr("pod-499"));
  EXPECT_THAT(shown.text(), HasSubstr("500/500"));
  EXPECT_THAT(shown.text(), Not(HasSubstr("pod-000")));
  shown.press(Key::Code::PageUp);
  EXPECT_THAT(shown.text(), HasSubstr("479/500"));
  shown.press(Key::Code::Home);
  EXPECT_THAT(shown.text(), HasSubstr("pod-000"));
}

TEST(PanesTest, TheFilterLooksIntoAllColumns) {
  Shown shown;
  shown.type("3/POD-00 insuff");
  EXPECT_THAT(shown.text(), HasSubstr("/POD-00 insuff_  1 of 40"));
  EXPECT_THAT(shown.text(), HasSubstr("pod-007"));
  EXPECT_THAT(shown.text(), Not(HasSubstr("pod-001")));
  shown.press(Key::Code::Enter);
  EXPECT_THAT(shown.text(), HasSubstr("filter \"POD-00 insuff\": 1 of 40"));
  shown.press(Key::Code::Escape);
  EXPECT_THAT(shown.text(), HasSubstr("pod-001"));
  shown.type("/x");
  shown.press(Key::Code::Backspace);
  shown.press(Key::Code::Backspace);
  EXPECT_EQ(shown.type("2"), Wish::Refresh);  // the filter has ended
  shown.type("/nothing");
  EXPECT_THAT(shown.text(), HasSubstr("no row has these words"));
}

TEST(PanesTest, SortsByEachColumn) {
  Shown shown;
  shown.type("3sss");  // by CPU
  EXPECT_THAT(shown.line(1), HasSubstr("CPU/REQUEST↓"));
  EXPECT_THAT(shown.line(2), HasSubstr("pod-039"));
  shown.type("r");
  EXPECT_THAT(shown.line(2), HasSubstr("pod-000"));
  shown.type("SSS");
  EXPECT_THAT(shown.line(1), Not(HasSubstr("↓")));
}

TEST(PanesTest, EveryWordCanBeRead) {
  Shown shown(12, 60);
  shown.type("3/pod-007");
  shown.press(Key::Code::Enter);
  std::string seen;
  for (int i = 0; i < 10; ++i) {  // to the right, until the reason is there
    seen += shown.text();
    shown.press(Key::Code::Right);
  }
  EXPECT_THAT(seen, HasSubstr("WHY"));
  EXPECT_THAT(seen, HasSubstr("Insufficient"));
  shown.press(Key::Code::Enter);
  shown.panes.setDetails(detailsOf(*shown.panes.opened(), shown.objects, shown.status));
  std::string details = shown.text();
  shown.press(Key::Code::End);
  details += shown.text();
  EXPECT_THAT(details, HasSubstr("THE-LAST-WORD"));
  EXPECT_THAT(details, Not(HasSubstr("…")));
}

TEST(PanesTest, StrangersDoNotReachTheTerminal) {
  Shown shown(50, 200);
  shown.type("6");
  for (const auto& [rows, columns] : kSizes) {
    shown.panes.handle({Key::Code::Resize, 0, rows, columns});
    const Grid grid = shown.panes.draw(shown.objects.now);
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const char32_t code = grid.at(row, column).code;
        EXPECT_TRUE(code == 0 || code >= 0x20) << static_cast<int>(code);
        EXPECT_FALSE(code >= 0x7f && code < 0xa0) << static_cast<int>(code);
        EXPECT_FALSE(code >= 0x202a && code <= 0x202e) << static_cast<int>(code);
      }
  }
  EXPECT_THAT(shown.text(), HasSubstr("evil?[2J?"));
}

TEST(PanesTest, StoppingAClusterNeedsAnAnswer) {
  Shown shown(24, 80, 5, "q again stops the cluster");
  EXPECT_EQ(shown.type("q"), Wish::None);
  EXPECT_THAT(shown.line(23), HasSubstr("q again stops the cluster"));
  EXPECT_EQ(shown.type("x"), Wish::None);
  EXPECT_EQ(shown.type("q"), Wish::None);
  EXPECT_EQ(shown.type("q"), Wish::Quit);
  EXPECT_EQ(Shown().type("q"), Wish::Quit);
  EXPECT_EQ(shown.press(Key::Code::Closed), Wish::Quit);
}

TEST(PanesTest, QGoesBackFromDetailsAndHelp) {
  Shown shown;
  shown.type("3");
  shown.press(Key::Code::Enter);
  EXPECT_EQ(shown.type("q"), Wish::Refresh);
  EXPECT_FALSE(shown.panes.opened());
  shown.type("?");
  EXPECT_THAT(shown.text(), HasSubstr("the panes"));
  EXPECT_EQ(shown.type("q"), Wish::None);
  EXPECT_THAT(shown.line(1), HasSubstr("POD"));
}

TEST(PanesTest, GoesFromANodeToItsPods) {
  Shown shown;
  shown.type("2");
  EXPECT_EQ(shown.type("p"), Wish::Refresh);
  EXPECT_EQ(shown.panes.pane(), PaneKind::Pods);
  EXPECT_THAT(shown.text(), HasSubstr("filter \"=box\""));
  EXPECT_THAT(shown.text(), Not(HasSubstr("pod-007")));  // which waits
}

TEST(PanesTest, TenThousandPodsStayFluid) {
  Shown shown(100, 300, 10'000);
  shown.type("3");
  for (int i = 0; i < 20; ++i) {
    shown.press(Key::Code::PageDown);
    shown.text();
  }
  EXPECT_THAT(shown.text(), HasSubstr("/10000"));
}

TEST(DetailsTest, ANodeShowsItsKoordletAndItsPods) {
  Shown shown;
  shown.status.qos = {{"box", {"CPU suppress: THE-ACTION"}, {}}};
  const Subject box{Subject::Kind::Node, "", "box"};
  std::string text;
  for (const auto& line : detailsOf(box, shown.objects, shown.status)) text += line.text + "\n";
  EXPECT_THAT(text, HasSubstr("THE-ACTION"));
  EXPECT_THAT(text, HasSubstr("shop/pod-001"));
  EXPECT_THAT(text, Not(HasSubstr("pod-007")));
  const Subject gone{Subject::Kind::Node, "", "gone"};
  EXPECT_THAT(detailsOf(gone, shown.objects, shown.status).front().text, HasSubstr("not exist"));
}

TEST(DetailsTest, AMegabyteInOneRowDoesNotWidenTheOthers) {
  Shown shown;
  auto odd = *shown.objects.pods[0];
  odd.status.reason = std::string(1'000'000, 'x');
  shown.objects.pods[0] = std::make_shared<const api::Pod>(odd);
  std::size_t size = 0;
  for (const auto& line : detailsOf({Subject::Kind::Node, "", "box"}, shown.objects, shown.status))
    size += line.text.size();
  EXPECT_LT(size, 100'000u);
}

TEST(ColumnsTest, CharactersTakeOneColumnOrTwo) {
  EXPECT_EQ(columnsIn("größer"), 6);
  EXPECT_EQ(columnsIn("節点"), 4);
  EXPECT_EQ(columnsIn("\xff\xfe"), 2);
  EXPECT_EQ(fitting("節点", 3), "節");
  Grid grid(1, 5);
  EXPECT_EQ(grid.put(0, 0, "節点x\x1b"), 5);
  EXPECT_EQ(grid.text(0), "節点x");
  EXPECT_EQ(grid.put(0, 0, "a\x1b[\xe2\x80\xae\x7f", Style::Bad),
            5);  // a mark that turns text around
  EXPECT_EQ(grid.text(0), "a?[??");
  EXPECT_EQ(grid.put(3, 0, "outside"), 0);
}

TEST(ColumnsTest, NoHalfOfACharacterIsLeft) {
  Grid grid(1, 6);
  grid.put(0, 0, "節点節");
  grid.put(0, 1, "ab");
  EXPECT_EQ(grid.text(0), " ab 節");
}

}  // namespace
}  // namespace koord::cluster
