#include "estimator/plan/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "estimator/estimator.h"
#include "estimator/plan/validate_kernels.h"
#include "estimator/plan/validate_models.h"

namespace plimsoll {
namespace {

// The year 2015's cards to today's: what a record's cuDNN text means, as 100 * major + minor.
int library_of(const MeasuredRecord& record, std::string_view key) {
  std::string text = record.text(key);
  if (const auto number = record.number(key)) text = fmt::format("{}", *number);
  if (text.starts_with("R") || text.starts_with("v")) text.erase(0, 1);
  const auto version = parse_version(text);
  if (!version) return 0;
  const auto part = [&](size_t i) { return i < version->numbers.size() ? version->numbers[i] : 0; };
  // "7605" is 7.6.5.
  return part(0) >= 1000 ? part(0) / 1000 * 100 + part(0) / 100 % 10 : part(0) * 100 + part(1);
}

}  // namespace

struct Validator::State {
  State(const Hwdb& database, Request request)
      : hwdb(database), models(database, std::move(request)) {}

  // Prepared contexts by device and libraries.
  tl::expected<const TimeContext*, std::string> context(const std::string& device,
                                                        const Libraries& library) {
    const auto key = std::tuple(device, library.cudnn, library.cublas);
    if (const auto at = contexts.find(key); at != contexts.end()) return &at->second;
    const auto found = hwdb.device(device);
    if (!found) return tl::unexpected<std::string>(fmt::format("device '{}' is not known", device));
    if (calibrations.empty()) {
      auto shipped = shipped_calibrations();
      if (shipped) calibrations = std::move(*shipped);
    }
    TimeOptions options;
    options.library = library;
    options.alone = true;  // benchmarks time one call after the other from the host
    const auto at =
        contexts.emplace(key, TimeContext(device_rates(*found), calibrations, options)).first;
    return &at->second;
  }

  const Hwdb& hwdb;
  std::vector<Calibration> calibrations;
  std::map<std::tuple<std::string, int, int>, TimeContext> contexts;
  ModelPredictor models;
};

Validator::Validator(const Hwdb& hwdb, Request base)
    : state_(std::make_unique<State>(hwdb, std::move(base))) {}
Validator::~Validator() = default;

namespace {

ValidationLine line_of(const MeasuredRecord& r) {
  ValidationLine line;
  line.file = r.file;
  line.index = r.index;
  line.kind = r.kind;
  line.device = r.text("device");
  line.op = r.kind == "layer" ? r.text("layer_type") : r.text("op");
  line.pass = r.text("pass");
  line.model = r.text("model");
  return line;
}

void finish(ValidationLine& line) {
  if (line.measured && line.predicted && *line.measured != 0)
    line.error = *line.predicted / *line.measured - 1;
}

// A convolution layer's backward pass runs two kernels.
KernelTime price(const MeasuredRecord& r, KernelAt kernel, const TimeContext& context) {
  const bool both = kernel.kernel_class == KernelClass::kConv && kernel.pass == Pass::kBackward;
  if (!both) return kernel_time(kernel, context);
  kernel.pass = Pass::kBackwardWeights;
  KernelTime sum = kernel_time(kernel, context);
  if (r.integer("c", 0) <= 4) return sum;  // the first layer's input needs no gradient
  kernel.pass = Pass::kBackwardData;
  const KernelTime data = kernel_time(kernel, context);
  sum.seconds += data.seconds;
  sum.low += data.low;
  sum.high += data.high;
  return sum;
}

}  // namespace

std::vector<ValidationLine> Validator::answer(const MeasuredRecord& r) {
  ValidationLine line = line_of(r);
  const auto skip = [&](std::string reason) {
    line.skipped = std::move(reason);
    return std::vector<ValidationLine>{line};
  };
  if (r.kind == "workspace")
    return skip("cuDNN's answers, not a measurement: see 'plimsoll workspace'");
  if (r.kind != "kernel" && r.kind != "layer") {
    auto lines = state_->models.answer(r, line);
    for (ValidationLine& l : lines) finish(l);
    return lines;
  }
  line.quantity = "time_ms";
  line.measured = r.number("time_ms");
  const auto kernel = r.kind == "kernel" ? kernel_of(r) : layer_kernel_of(r);
  if (!kernel) return skip(kernel.error());
  if (!line.measured) return skip("the record holds no time");
  const std::string cudnn =
      r.kind == "layer" && r.text("conv_engine").find("R4") != std::string::npos ? "4.0" : "";
  Libraries library{.cudnn = cudnn.empty() ? library_of(r, "cudnn") : 400,
                    .cublas = library_of(r, "cuda")};
  const auto context = state_->context(line.device, library);
  if (!context) return skip(context.error());
  const KernelTime t = price(r, *kernel, **context);
  line.predicted = t.seconds * 1e3;
  line.low = t.low * 1e3;
  line.high = t.high * 1e3;
  finish(line);
  return {line};
}

std::vector<ValidationSummary> summarize(const std::vector<ValidationLine>& lines) {
  struct Group {
    std::vector<double> errors;
    int64_t skipped = 0, inside = 0, ranged = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, Group>
      groups;
  for (const ValidationLine& l : lines) {
    Group& g = groups[{l.kind, l.device, l.op, l.pass, l.quantity}];
    if (!l.error) {
      ++g.skipped;
      continue;
    }
    g.errors.push_back(*l.error);
    if (!l.low || !l.high) continue;
    ++g.ranged;
    if (*l.measured >= *l.low && *l.measured <= *l.high) ++g.inside;
  }
  std::vector<ValidationSummary> summaries;
  for (auto& [key, g] : groups) {
    ValidationSummary s;
    std::tie(s.kind, s.device, s.op, s.pass, s.quantity) = key;
    s.n = static_cast<int64_t>(g.errors.size());
    s.skipped = g.skipped;
    if (s.n > 0) {
      double bias = 0;
      std::vector<double> absolute;
      for (const double e : g.errors) {
        bias += e;
        absolute.push_back(std::abs(e));
      }
      std::sort(absolute.begin(), absolute.end());
      const auto at = [&](double q) {
        return absolute[static_cast<size_t>(q * static_cast<double>(absolute.size() - 1) + 0.5)];
      };
      double sum = 0;
      for (const double a : absolute) sum += a;
      s.mape = sum / static_cast<double>(s.n);
      s.bias = bias / static_cast<double>(s.n);
      s.median_ape = at(0.5);
      s.p90_ape = at(0.9);
      if (g.ranged > 0)
        s.within_range = static_cast<double>(g.inside) / static_cast<double>(g.ranged);
    }
    summaries.push_back(std::move(s));
  }
  return summaries;
}

}  // namespace plimsoll
