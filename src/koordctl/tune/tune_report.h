#pragma once

// What `koordctl tune` prints and writes.

#include <string>

#include "base/json.h"
#include "koordctl/tune/search.h"
#include "koordctl/tune/tuned_site.h"

namespace koord::koordctl {

// What is reported beside the search.
struct TuneSubject {
  const TunedSite* site = nullptr;
  double days = 1;
  bool colocates = true;  // the cluster does already
  Effects services;       // without any jobs, on the seeds of the final comparison
};

std::string tuneText(const TuneResult& result, const TuneSubject& subject);
json::object tuneDocument(const TuneResult& result, const TuneSubject& subject);

// A merge patch of the ConfigMap slo-controller-config with the proposal: whole sections, because
// each is a text. What else the sections in `config` have stays. Empty if no section changes.
// colocates: false adds "enable": true.
json::object configPatch(const TuneResult& result, const api::StringMap& config, bool colocates);

}  // namespace koord::koordctl
