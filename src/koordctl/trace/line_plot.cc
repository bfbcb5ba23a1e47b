#include "koordctl/trace/line_plot.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::koordctl {

namespace {

constexpr double kWidth = 640, kHeight = 240, kLeft = 60, kRight = 20, kTop = 30, kBottom = 30;
constexpr int kTicks = 4;
constexpr double kDay = 86400;

// The ends of both axes, and where values lie in the picture.
struct Axes {
  double first = 0, last = 1, highest = 1;
  double x(double value) const {
    return kLeft + (value - first) / (last - first) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom - value / highest * (kHeight - kTop - kBottom);
  }
};

Axes axesOf(const LinePlot& plot) {
  Axes axes;
  bool any = false;
  double highest = 0;
  for (const PlotLine& line : plot.lines) {
    for (const auto& [x, y] : line.points) {
      axes.first = any ? std::min(axes.first, x) : x;
      axes.last = any ? std::max(axes.last, x) : x;
      highest = std::max(highest, y);
      any = true;
    }
  }
  if (axes.last <= axes.first) axes.last = axes.first + 1;
  axes.highest = plot.highest > 0 ? plot.highest : std::max(highest, 1.0);
  return axes;
}

}  // namespace

std::string escapeMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string LinePlot::svg() const {
  const Axes axes = axesOf(*this);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\">"
      "<title>{}</title><text x=\"{}\" y=\"18\" class=\"title\">{}</text>\n",
      kWidth, kHeight, kWidth, escapeMarkup(title), kLeft, escapeMarkup(title));
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double value = axes.highest * tick / kTicks;
    text += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}{}</text>\n",
        kLeft, kWidth - kRight, axes.y(value), axes.y(value), kLeft - 6, axes.y(value) + 4, value,
        escapeMarkup(unit));
    const double time = axes.first + (axes.last - axes.first) * tick / kTicks;
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">day {:.3g}</text>\n",
                        axes.x(time), kHeight - 10, (time - axes.first) / kDay);
  }
  for (const PlotLine& line : lines) {
    text += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"",
                        line.color);
    for (const auto& [x, y] : line.points)
      text += fmt::format("{:.1f},{:.1f} ", axes.x(x), axes.y(y));
    text += "\"/>\n";
  }
  return text + "</svg>\n";
}

}  // namespace koord::koordctl
