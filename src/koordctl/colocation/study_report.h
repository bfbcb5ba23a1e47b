#pragma once

// The results of the study, for programs (JSON) and for users (a page with plots, a text table).

#include <string>

#include "koordctl/colocation/study.h"

namespace koord::koordctl::colocation {

// {"days", "seeds", "firstSeed", "parameters": [{"name", "value", "meaning", "source"}],
// "arms": [{"name", "figures": {NAME: {"mean", "halfWidth", "differenceTo": {ARM: {"mean",
// "halfWidth"}}, "bySeed": []}}, "points": [{"seconds", "cpuUsed", "servicesUsed",
// "offered", "slowdownP99"}]}], "sweep": [{"parameter", "value", "arms": [...]}]}
// Half widths are those of 95 % confidence intervals. Points are of the first seed; shares are 0
// to 1.
std::string studyJson(const StudyResult& study);

// One self-contained page of HTML: tables, plots in SVG over time of the compared arms, and all
// parameters with their sources.
std::string studyPage(const StudyResult& study);

// The tables, for a terminal. Each value as "mean +- half width".
std::string studyText(const StudyResult& study);

}  // namespace koord::koordctl::colocation
