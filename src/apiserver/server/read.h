#pragma once

// Lists: which objects are on a page, and their text.

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

// What a list shows, as it is now or was at the version that is asked for.
Outcome<ListPage> pageOf(const Call& call, const Registry& registry, Store& store);
// A page whose items are not sent as they are stored, which costs time: others get their turns meanwhile. The call
// must outlive it.
Task<Reply> renderInTurns(Executor& executor, const Call& call, Outcome<ListPage> page);

}  // namespace koord::apiserver
