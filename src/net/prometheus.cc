#include "net/prometheus.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace koord::net {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void appendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string_view nameOf(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    case MetricType::Summary:
      return "summary";
    default:
      return "untyped";
  }
}

// One line; extra: a label of this sample only, such as le.
void appendSample(std::string& out, std::string_view name, std::string_view suffix,
                  const ClientMetric& metric, std::string_view value, std::string_view extra = {},
                  std::string_view extraValue = {}) {
  out += name;
  out += suffix;
  char open = '{';
  const auto add = [&](std::string_view label, std::string_view text) {
    out += open;
    out += label;
    out += "=\"";
    appendEscaped(out, text, true);
    out += '"';
    open = ',';
  };
  for (const auto& label : metric.label) add(label.name, label.value);
  if (!extra.empty()) add(extra, extraValue);
  if (open == ',') out += '}';
  out += ' ';
  out += value;
  out += '\n';
}

void appendHistogram(std::string& out, const std::string& name, const ClientMetric& metric) {
  const auto& histogram = metric.histogram;
  for (const auto& bucket : histogram.bucket) {
    appendSample(out, name, "_bucket", metric, fmt::to_string(bucket.cumulative_count), "le",
                 prometheusNumber(bucket.upper_bound));
  }
  appendSample(out, name, "_sum", metric, prometheusNumber(histogram.sample_sum));
  appendSample(out, name, "_count", metric, fmt::to_string(histogram.sample_count));
}

void appendFamily(std::string& out, const MetricFamily& family) {
  if (family.metric.empty()) return;
  out += fmt::format("# HELP {} ", family.name);
  appendEscaped(out, family.help, false);
  out += fmt::format("\n# TYPE {} {}\n", family.name, nameOf(family.type));
  for (const ClientMetric& metric : family.metric) {
    switch (family.type) {
      case MetricType::Counter:
        appendSample(out, family.name, "", metric, prometheusNumber(metric.counter.value));
        break;
      case MetricType::Gauge:
        appendSample(out, family.name, "", metric, prometheusNumber(metric.gauge.value));
        break;
      case MetricType::Histogram:
        appendHistogram(out, family.name, metric);
        break;
      default:  // nothing here has summaries or untyped values
        break;
    }
  }
}

}  // namespace

prometheus::Family<prometheus::Counter>& counterFamily(prometheus::Registry& registry,
                                                       const std::string& name,
                                                       const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& gaugeFamily(prometheus::Registry& registry,
                                                   const std::string& name,
                                                   const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Histogram>& histogramFamily(prometheus::Registry& registry,
                                                           const std::string& name,
                                                           const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

prometheus::Histogram::BucketBoundaries exponentialBuckets(double first, double factor, int count) {
  prometheus::Histogram::BucketBoundaries bounds;
  for (int i = 0; i < count; ++i, first *= factor) bounds.push_back(first);
  return bounds;
}

std::string prometheusNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 400> text;
  // The shortest digits that give the number again, with an exponent where Go has one.
  const double size = std::abs(value);
  const bool exponent = size != 0 && (size < 1e-4 || size >= 1e6);
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed);
  return {text.data(), end.ptr};
}

std::string prometheusText(const prometheus::Collectable& registry) {
  std::string out;
  for (const MetricFamily& family : registry.Collect()) appendFamily(out, family);
  return out;
}

}  // namespace koord::net
