#pragma once

// LinePlot: a plot of lines over time, as SVG text.

#include <string>
#include <utility>
#include <vector>

namespace koord::koordctl {

struct PlotLine {
  std::string color;                              // "#1f6feb"
  std::vector<std::pair<double, double>> points;  // ascending x
};

struct LinePlot {
  std::string title;
  std::string unit;    // of y, after the numbers: "%"
  double highest = 0;  // end of the y axis; 0: the highest value
  std::vector<PlotLine> lines;

  std::string svg() const;
};

// Text for HTML and SVG.
std::string escapeMarkup(std::string_view text);

}  // namespace koord::koordctl
