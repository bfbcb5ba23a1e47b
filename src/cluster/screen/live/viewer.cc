#include "cluster/screen/live/viewer.h"

#include <chrono>
#include <future>
#include <utility>

#include "cluster/screen/object_rows.h"
#include "cluster/screen/terminal/terminal.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {
constexpr auto kPatience = 300ms;  // for a terminal that does not read
}

// Everything on the viewer's thread.
class Viewer::Face {
 public:
  Face(Executor& owner, ViewerEvents events, std::string quitQuestion)
      : owner_(owner), events_(std::move(events)), quitQuestion_(std::move(quitQuestion)) {}

  bool open(Executor& executor) {
    terminal_ = Terminal::open(executor, [this](const Key& key) { press(key); });
    if (!terminal_) return false;
    panes_.emplace(terminal_->rows(), terminal_->columns(), quitQuestion_);
    draw();
    return true;
  }
  void close() { terminal_.reset(); }

  void show(Snapshot snapshot) {
    objects_ = std::move(snapshot.objects);
    status_ = std::move(snapshot.status);
    summarize(objects_, status_);
    fill();
    draw();
  }

  void answer(const Subject& subject, Document text) {
    if (panes_->opened() != subject) return;
    answer_ = std::move(text);
    fill();
    draw();
  }

 private:
  void press(const Key& key) {
    const auto before = panes_->opened();
    const Wish wish = panes_->handle(key);
    if (panes_->opened() != before) answer_.clear();
    if (wish == Wish::Quit) owner_.post([quit = events_.onQuit] { quit(); });
    if (wish == Wish::Refresh) {
      fill();
      owner_.post([shown = events_.onShown, pane = panes_->pane(), opened = panes_->opened()] {
        shown(pane, opened);
      });
    }
    draw();
  }

  // Only what is visible is computed.
  void fill() {
    panes_->setStatus(status_);
    if (const auto& opened = panes_->opened())
      return panes_->setDetails(detailsOf(*opened, objects_, status_, answer_));
    const PaneKind pane = panes_->pane();
    if (pane == PaneKind::Nodes) panes_->setRows(pane, nodeRows(status_));
    if (pane == PaneKind::Pods) panes_->setRows(pane, podRows(objects_));
    if (pane == PaneKind::Moves) panes_->setRows(pane, moveRows(objects_));
    if (pane == PaneKind::Quotas) panes_->setRows(pane, quotaRows(objects_));
    if (pane == PaneKind::Events) panes_->setRows(pane, eventRows(objects_));
  }

  void draw() {
    if (terminal_) terminal_->show(panes_->draw(objects_.now));
  }

  Executor& owner_;
  const ViewerEvents events_;
  const std::string quitQuestion_;
  std::unique_ptr<Terminal> terminal_;
  std::optional<Panes> panes_;
  Objects objects_;
  ClusterStatus status_;
  Document answer_;  // about what is opened
};

Viewer::Viewer() : thread_(std::make_unique<LoopThread>("screen")) {}

std::unique_ptr<Viewer> Viewer::open(Executor& executor, std::string quitQuestion,
                                     ViewerEvents events) {
  if (!Terminal::usable()) return nullptr;
  auto viewer = std::unique_ptr<Viewer>(new Viewer());
  viewer->face_ = std::make_shared<Face>(executor, std::move(events), std::move(quitQuestion));
  bool opened = false;
  viewer->thread_->runSync([&] {
    viewer->drawing_ = ::pthread_self();
    opened = viewer->face_->open(viewer->thread_->loop());
  });
  return opened ? std::move(viewer) : nullptr;
}

Viewer::~Viewer() {
  // The thread may still be in set_value() when this function continues.
  auto done = std::make_shared<std::promise<void>>();
  const auto closed = done->get_future();
  thread_->loop().post([face = std::move(face_), done]() mutable {
    face->close();
    face.reset();
    done->set_value();
  });
  // The thread may be in the middle of a write.
  const auto isClosed = [&] { return closed.wait_for(kPatience) == std::future_status::ready; };
  if (isClosed()) return;
  OutputRelease release;
  while (!isClosed()) release.discard(drawing_);
}

void Viewer::show(Snapshot snapshot) {
  ++*waiting_;
  thread_->loop().post(
      [face = face_, waiting = waiting_, snapshot = std::move(snapshot)]() mutable {
        face->show(std::move(snapshot));
        --*waiting;
      });
}

void Viewer::answer(Subject subject, Document text) {
  ++*waiting_;
  thread_->loop().post([face = face_, waiting = waiting_, subject = std::move(subject),
                        text = std::move(text)]() mutable {
    face->answer(subject, std::move(text));
    --*waiting;
  });
}

}  // namespace koord::cluster
