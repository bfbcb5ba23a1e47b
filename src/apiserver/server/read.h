#pragma once

// Lists: the objects on a page, and their text.

#include <vector>

#include "apiserver/server/render.h"
#include "apiserver/server/server.h"
#include "apiserver/server/target.h"

namespace koord::apiserver {

struct ListPage {
  Target target;
  ListMeta meta;
  std::vector<EntryPtr> entries;
};

// The objects of a list, now or at the requested version.
Outcome<ListPage> pageOf(const Call& call, const Registry& registry, Store& store);
// Renders a page whose items are not sent in stored form. This takes time, so other requests get
// turns meanwhile. The call must outlive it.
Task<Reply> renderInSlices(Executor& executor, const Call& call, Outcome<ListPage> page);

}  // namespace koord::apiserver
