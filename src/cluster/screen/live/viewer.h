#pragma once

// The full screen: panes on the terminal, on a thread of its own. A terminal that is slow or does
// not read delays neither the cluster nor other commands.

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "cluster/screen/objects.h"
#include "cluster/screen/panes.h"
#include "cluster/screen/status.h"

namespace koord::cluster {

struct Snapshot {
  Objects objects;
  ClusterStatus status;  // what does not follow from the objects: components, server, notes
};

struct ViewerEvents {
  // What is visible now: its data should be up to date.
  std::function<void(PaneKind pane, std::optional<Subject> opened)> onShown;
  std::function<void()> onQuit;  // the user wants to end it, or the terminal is closed
};

class Viewer {
 public:
  // Takes over the terminal; nullptr if that is impossible. Events arrive on the executor.
  static std::unique_ptr<Viewer> open(Executor& executor, std::string quitQuestion,
                                      ViewerEvents events);
  // Restores the terminal.
  ~Viewer();

  // False while the last snapshot or answer is not on the screen: another one would only wait.
  bool isIdle() const { return waiting_->load() == 0; }
  void show(Snapshot snapshot);
  // The answer of components about the subject.
  void answer(Subject subject, Document text);

 private:
  class Face;
  Viewer();

  std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<LoopThread> thread_;
  pthread_t drawing_{};         // the thread's id
  std::shared_ptr<Face> face_;  // used on the thread only
};

}  // namespace koord::cluster
