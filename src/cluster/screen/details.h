#pragma once

// All about one object: what the objects of the cluster tell, the answers of koord-scheduler and
// koord-manager, and related objects.

#include <string>

#include "cluster/screen/objects.h"
#include "cluster/screen/row.h"
#include "cluster/screen/status.h"

namespace koord::cluster {

// "pod shop/web-1"
std::string titleOf(const Subject& subject);
// `status` is that of the objects, `answers` arrive later: empty until then.
Document detailsOf(const Subject& subject, const Objects& objects, const ClusterStatus& status,
                   const Document& answers = {});

// The lines of a text.
Document documentOf(const std::string& text, Style style = Style::Normal);

}  // namespace koord::cluster
