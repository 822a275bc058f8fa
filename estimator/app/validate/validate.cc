#include "estimator/app/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "estimator/app/validate/measured_request.h"
#include "estimator/app/validate/models.h"
#include "estimator/app/validate/quantities.h"
#include "estimator/estimator.h"
#include "estimator/kernels/roofline.h"
#include "estimator/kernels/select_fit.h"
#include "hwdb/measured/kernel.h"

namespace plimsoll {
namespace {

// A record's word for the library's own choice of algorithm.
constexpr std::string_view kGuessed = "heuristic";

// A convolution layer's backward pass.
bool is_two_kernels(const KernelAt& kernel) {
  return kernel.kernel_class == KernelClass::kConv && kernel.pass == Pass::kBackward;
}

KernelTime price(const MeasuredRun& r, KernelAt kernel, const TimeContext& context) {
  if (!is_two_kernels(kernel)) return kernel_time(kernel, context);
  kernel.pass = Pass::kBackwardWeights;
  KernelTime sum = kernel_time(kernel, context);
  const bool image = r.c.value_or(0) <= 4;
  if (image && !r.input_gradient.value_or(false)) return sum;
  kernel.pass = Pass::kBackwardData;
  const KernelTime data = kernel_time(kernel, context);
  sum.seconds += data.seconds;
  sum.low += data.low;
  sum.high += data.high;
  return sum;
}

// As price() has it, by datasheet figures.
double roofline(const MeasuredRun& r, const KernelAt& kernel, const DeviceRates& rates) {
  const bool data =
      is_two_kernels(kernel) && (r.c.value_or(0) > 4 || r.input_gradient.value_or(false));
  return (data ? 2 : 1) * roofline_seconds(kernel, rates);
}

std::optional<AlgorithmChoice> choice_of(const MeasuredRun& r, const KernelAt& kernel,
                                         const KernelTime& time, const TimeContext& context) {
  const auto measured = conv_algorithm_from_name(r.algo);
  const auto predicted = conv_algorithm_from_name(time.algorithm);
  if (!measured || !predicted) return std::nullopt;
  AlgorithmChoice choice{.predicted = std::string(time.algorithm), .measured = r.algo};
  choice.same = same_method(*measured, *predicted);
  const std::vector<ConvCost> rows = conv_alternatives(kernel, context);  // the fastest first
  const auto seconds = [&](ConvAlgorithm algorithm) {
    const auto row = std::ranges::find_if(
        rows, [&](const ConvCost& cost) { return same_method(cost.algorithm, algorithm); });
    return row == rows.end() ? 0 : row->seconds;
  };
  const double one = seconds(*measured), other = seconds(*predicted);
  if (one > 0 && other > 0) choice.ratio = one / other;
  return choice;
}

bool is_spilled(const KernelAt& kernel, const TimeOptions& options, const DeviceRates& rates) {
  const auto* p = std::get_if<RecurrentProblem<int64_t>>(&kernel.problem);
  return p != nullptr && options.recurrent.forced == RecurrentAlgorithm::kPersistent &&
         kernel.pass != Pass::kBackwardWeights &&
         !keeps_weights(*p, bits(kernel.dtype) / 8.0, rates.sms);
}

}  // namespace

struct Validator::State {
  State(const Hwdb& database, Request request, Calibrations known)
      : hwdb(database),
        machine(request.machine),
        calibrations(std::move(known)),
        models(database, std::move(request)) {}

  // Prepared contexts by device, libraries and what a layer's framework runs of its own.
  tl::expected<const TimeContext*, std::string> context(const std::string& device,
                                                        const Libraries& library, bool columns,
                                                        const std::string& layout,
                                                        const std::string& framework,
                                                        const std::string& algorithm) {
    const auto key =
        std::tuple(device, library.cudnn, library.cublas, columns, layout, framework, algorithm);
    if (const auto at = contexts.find(key); at != contexts.end()) return &at->second;
    const auto found = hwdb.device(device);
    if (!found) return tl::unexpected<std::string>(fmt::format("unknown device '{}'", device));
    TimeOptions options;
    options.library = library;
    options.alone = true;  // benchmarks time one call after the other from the host
    options.recurrent.forced = recurrent_algorithm_from_name(algorithm);
    if (algorithm == kGuessed) options.policy = AlgorithmPolicy::kHeuristic;
    if (columns) options.policy = AlgorithmPolicy::kIm2col;
    options.layout = layout_from_name(layout);
    if (const auto profile = hwdb.framework(framework); !framework.empty() && profile) {
      options.max_pool_backward = profile->max_pool_backward;
      options.bias_factor = profile->bias_factor;
      options.relu_factor = profile->relu_factor;
    }
    if (machine && machine->gpu == found->id) options.machine = machine->factors;
    const auto at =
        contexts.emplace(key, TimeContext(rates_of(*found), calibrations, options)).first;
    return &at->second;
  }

  ValidationLine kernel_line(const MeasuredRun& r, ValidationLine line) {
    line.quantity = "time_ms";
    line.measured = r.value("time_ms");
    const auto skip = [&](std::string reason) {
      line.skipped = std::move(reason);
      return line;
    };
    if (!line.measured) return skip(no_prediction(r));
    if (r.doubtful()) return skip("its source marks it as doubtful: " + r.flags.front());
    const auto kernel = r.kind == RunKind::kKernel ? kernel_of(r) : layer_kernel_of(r);
    if (!kernel) return skip(kernel.error());
    // "cuDNN (version not printed, R4 era, ...)"
    const bool fourth = r.conv_engine.find("R4") != std::string::npos;
    const Libraries library{.cudnn = fourth ? 400 : library_version(r.cudnn),
                            .cublas = library_version(r.cuda)};
    const bool columns =
        r.conv_engine.find("im2col") != std::string::npos || r.library == "nn.SpatialConvolutionMM";
    const auto prepared = context(line.device, library, columns, r.layout,
                                  r.kind == RunKind::kLayer ? r.framework_id() : std::string(),
                                  r.op == "rnn" || r.algo == kGuessed ? r.algo : std::string());
    if (!prepared) return skip(prepared.error());
    if (is_spilled(*kernel, (*prepared)->options(), (*prepared)->rates())) {
      return skip("the persistent kernel does not keep these weights");
    }
    const KernelTime t = price(r, *kernel, **prepared);
    line.predicted = t.seconds * 1e3;
    line.low = t.low * 1e3;
    line.high = t.high * 1e3;
    line.roofline = roofline(r, *kernel, (*prepared)->rates()) * 1e3;
    line.algorithm = choice_of(r, *kernel, t, **prepared);
    if (!is_two_kernels(*kernel)) line.priced_as = priced_as(*kernel, **prepared);
    if (r.kind == RunKind::kLayer) widen(line);
    return line;
  }

  // A layer in a framework's run: its own kernel, not the one that was calibrated.
  void widen(ValidationLine& line) const {
    const auto errors = open_step_errors(hwdb);
    if (!errors) return;
    const auto wide = [&](double ratio) {
      return std::exp(std::hypot(std::log(std::max(1.0, ratio)), errors->layer));
    };
    line.low = *line.predicted / wide(*line.predicted / *line.low);
    line.high = *line.predicted * wide(*line.high / *line.predicted);
  }

  // MiB of a card; nothing where nobody knows it.
  std::optional<double> mib_of(const std::string& device) {
    const auto known = memories.find(device);
    if (known != memories.end()) return known->second;
    const auto found = hwdb.device(device);
    const auto mib = found ? std::optional(static_cast<double>(found->memory.value) / 1048576)
                           : std::optional<double>();
    return memories.emplace(device, mib).first->second;
  }

  // What a process on one card can hold is no more than the card. A source may have the card's name
  // wrong; a wrong unit is further off.
  void doubt(const MeasuredRun& r, ValidationLine& line) {
    const bool of_card = line.quantity == "nvidia_smi_mb" || line.quantity == "device_used_mb";
    if (!of_card || !line.measured || !line.skipped.empty() || r.n_gpus.value_or(1) > 1) return;
    constexpr double kUnits = 4;
    const auto most = mib_of(r.device);
    if (!most || *line.measured <= kUnits * *most) return;
    line.skipped = "more than the GPU has: is its unit right?";
    line.predicted.reset();
    line.low.reset();
    line.high.reset();
  }

  const Hwdb& hwdb;
  const std::optional<Machine> machine;
  std::map<std::string, std::optional<double>> memories{};
  const Calibrations calibrations;
  using Key = std::tuple<std::string, int, int, bool, std::string, std::string, std::string>;
  std::map<Key, TimeContext> contexts;
  ModelPredictor models;
};

Validator::Validator(const Hwdb& hwdb, Request base, Calibrations calibrations)
    : state_(std::make_unique<State>(hwdb, std::move(base), std::move(calibrations))) {}
Validator::~Validator() = default;

namespace {

ValidationLine line_of(const MeasuredRun& r, const std::string& file) {
  ValidationLine line;
  line.file = file;
  line.index = static_cast<int64_t>(r.index);
  line.kind = name(r.kind);
  line.device = r.device;
  line.op = r.kind == RunKind::kLayer ? r.layer_type : r.op;
  line.pass = r.pass;
  line.model = r.model;
  return line;
}

void finish(ValidationLine& line) {
  if (line.measured && line.predicted && *line.measured != 0)
    line.error = *line.predicted / *line.measured - 1;
}

}  // namespace

std::vector<ValidationLine> Validator::answer(const MeasuredRun& r, const std::string& file,
                                              const Request* asked) {
  ValidationLine line = line_of(r, file);
  if (r.kind == RunKind::kWorkspace) {
    line.skipped = "cuDNN's answers, not a measurement: see 'plimsoll workspace'";
    return {line};
  }
  std::vector<ValidationLine> lines = r.kind == RunKind::kKernel || r.kind == RunKind::kLayer
                                          ? std::vector{state_->kernel_line(r, std::move(line))}
                                          : state_->models.answer(r, line, asked);
  for (ValidationLine& l : lines) {
    state_->doubt(r, l);
    l.unit = unit_word(r, l.quantity);
    finish(l);
  }
  return lines;
}

void Summaries::add(const ValidationLine& l) {
  Group& g = groups_[{l.kind, l.device, l.op, l.pass, l.quantity}];
  if (!l.skipped.empty()) {
    ++g.skipped;
    return;
  }
  ++g.predicted;
  if (!l.error) return;
  g.errors.push_back(*l.error);
  if (!l.low || !l.high) return;
  ++g.ranged;
  if (*l.measured >= *l.low && *l.measured <= *l.high) ++g.inside;
}

ValidationSummary Summaries::sum_up(const Key& key, Group& g) {
  ValidationSummary s;
  std::tie(s.kind, s.device, s.op, s.pass, s.quantity) = key;
  s.n = g.predicted;
  s.skipped = g.skipped;
  if (g.errors.empty()) return s;
  const auto count = static_cast<double>(g.errors.size());
  double bias = 0;
  for (double& e : g.errors) {
    bias += e;
    e = std::abs(e);
  }
  std::sort(g.errors.begin(), g.errors.end());
  const auto at = [&](double q) {
    return g.errors[static_cast<size_t>(std::lround(q * static_cast<double>(g.errors.size() - 1)))];
  };
  double sum = 0;
  for (const double a : g.errors) sum += a;
  s.mape = sum / count;
  s.bias = bias / count;
  s.median_ape = at(0.5);
  s.p90_ape = at(0.9);
  if (g.ranged > 0) s.within_range = static_cast<double>(g.inside) / static_cast<double>(g.ranged);
  return s;
}

std::vector<ValidationSummary> Summaries::take() {
  std::vector<ValidationSummary> summaries;
  for (auto& [key, group] : groups_) summaries.push_back(sum_up(key, group));
  groups_.clear();
  return summaries;
}

}  // namespace plimsoll
