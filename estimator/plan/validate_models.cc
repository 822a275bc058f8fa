#include "estimator/plan/validate_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "estimator/estimator.h"
#include "estimator/time/collective.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

struct Predicted {
  std::string_view field;
  // In the record's own unit; nothing where the estimate does not hold it.
  std::function<std::optional<double>(const Estimate&)> predict;
  std::function<std::optional<Range>(const Estimate&)> range;
  double per_unit = 1;  // of the record's unit in bytes or nanoseconds
};

constexpr double kMs = 1e6;         // nanoseconds
constexpr double kMiB = 1048576.0;  // bytes
constexpr double kGB = 1e9;

std::optional<Range> no_range(const Estimate&) { return std::nullopt; }

const std::vector<Predicted>& quantities() {
  static const std::vector<Predicted> kQuantities = {
      {"total_ms",
       [](const Estimate& e) { return std::optional(static_cast<double>(e.time.step_ns)); },
       [](const Estimate& e) { return std::optional(e.time.step_range_ns); }, kMs},
      {"forward_ms",
       [](const Estimate& e) { return std::optional(static_cast<double>(e.time.forward_ns)); },
       no_range, kMs},
      {"backward_ms",
       [](const Estimate& e) { return std::optional(static_cast<double>(e.time.backward_ns)); },
       no_range, kMs},
      {"nvidia_smi_mb",
       [](const Estimate& e) { return std::optional(static_cast<double>(e.memory.device_bytes)); },
       [](const Estimate& e) { return std::optional(e.memory.device_range); }, kMiB},
      {"device_used_mb",
       [](const Estimate& e) { return std::optional(static_cast<double>(e.memory.device_bytes)); },
       [](const Estimate& e) { return std::optional(e.memory.device_range); }, kMiB},
      {"peak_allocated_mb",
       [](const Estimate& e) {
         return std::optional(static_cast<double>(e.memory.allocated_peak_bytes));
       },
       no_range, kMiB},
      {"train_memory_gb",
       [](const Estimate& e) {
         return std::optional(static_cast<double>(e.memory.allocated_peak_bytes));
       },
       no_range, kGB},
      {"host_mb", [](const Estimate&) { return std::optional<double>(); }, no_range, kMiB},
  };
  return kQuantities;
}

Precision precision_of(const std::string& dtype) {
  if (dtype == "fp16") return Precision::kFp16;
  if (dtype == "bf16") return Precision::kBf16;
  if (dtype == "amp" || dtype == "fp16_mixed_tensor_core" || dtype == "amp-fp16")
    return Precision::kAmpFp16;
  if (dtype == "tf32") return Precision::kTf32;
  return Precision::kFp32;
}

std::optional<Optimizer> optimizer_of(const std::string& name) {
  if (name.empty()) return Optimizer::kMomentum;
  for (const auto& [word, optimizer] :
       std::initializer_list<std::pair<std::string_view, Optimizer>>{
           {"momentum", Optimizer::kMomentum},
           {"adamw", Optimizer::kAdamW},
           {"adam", Optimizer::kAdam},
           {"rmsprop", Optimizer::kRmsProp},
           {"adagrad", Optimizer::kAdagrad},
           {"sgd", Optimizer::kSgd}}) {
    if (name.find(word) != std::string::npos) return optimizer;
  }
  return std::nullopt;
}

// "[224,224] side" of image inputs, where the record gives [C,H,W].
std::optional<int64_t> image_of(const MeasuredRecord& r) {
  const auto input = r.numbers("input");
  return input.size() == 3 ? std::optional(static_cast<int64_t>(input[1])) : std::nullopt;
}

std::string framework_of(const MeasuredRecord& r) {
  std::string name = r.text("framework");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::string version = r.text("framework_version");
  return version.empty() ? name : name + "-" + version;
}

}  // namespace

struct ModelPredictor::State {
  const Hwdb& hwdb;
  Request base;
  std::map<std::string, CompiledModel> compiled;
  std::map<std::string, tl::expected<Evaluator, std::string>> evaluators;

  tl::expected<Request, std::string> request_for(const MeasuredRecord& r) const {
    Request q = base;
    const std::string model = r.text("model");
    if (model.empty()) return Reason("the record names no model");
    q.model = model.ends_with(".onnx") || model.ends_with(".json") || model.starts_with("builtin:")
                  ? model
                  : "builtin:" + model;
    q.devices = {r.text("device")};
    const auto per_gpu = r.integer("batch_per_gpu");
    const int64_t gpus = std::max<int64_t>(1, r.integer("n_gpus", 1));
    const auto total = r.integer("batch");
    if (!per_gpu && !total) return Reason("the record names no batch");
    q.batch = std::max<int64_t>(1, per_gpu.value_or(total.value_or(1) / gpus));
    q.gpu_count = gpus;
    q.image = image_of(r);
    const std::string mode = r.text("mode");
    q.recipe.mode = mode == "inference"         ? Mode::kInference
                    : mode == "train_no_update" ? Mode::kTrainNoUpdate
                                                : Mode::kTrain;
    const auto optimizer = optimizer_of(r.text("optimizer"));
    if (!optimizer) return Reason(fmt::format("optimizer '{}' is not known", r.text("optimizer")));
    q.recipe.optimizer = *optimizer;
    q.recipe.precision = precision_of(r.text("dtype"));
    if (!r.text("framework").empty()) q.framework = framework_of(r);
    if (const std::string cudnn = r.text("cudnn"); !cudnn.empty() && parse_version(cudnn))
      q.cudnn = cudnn;
    if (r.text("conv_library").find("im2col") != std::string::npos) q.conv_algorithm = "im2col";
    if (model == "mlp") set_mlp(r, q);
    return q;
  }

  static void set_mlp(const MeasuredRecord& r, Request& q) {
    const auto join = [](const std::vector<double>& list) {
      std::string text;
      for (const double x : list)
        text += (text.empty() ? "" : ",") + fmt::format("{}", static_cast<int64_t>(x));
      return text;
    };
    q.image.reset();
    auto widths = r.numbers("linear_widths");
    if (widths.empty()) widths = r.numbers("hidden");
    if (const auto one = r.integer("hidden")) widths = {static_cast<double>(*one)};
    if (const auto input = r.numbers("input"); !input.empty())
      q.settings["input"] = join({input[0]});
    if (!widths.empty()) q.settings["hidden"] = join(widths);
    if (const auto output = r.integer("output", r.integer("outputs", 0)); output > 0)
      q.settings["output"] = fmt::format("{}", output);
  }

  tl::expected<const Evaluator*, std::string> evaluator_for(const Request& q) {
    const std::string key =
        q.devices[0] + "|" + q.framework + "|" + q.cudnn.value_or("") + "|" + q.conv_algorithm;
    auto at = evaluators.find(key);
    if (at == evaluators.end()) at = evaluators.emplace(key, make_evaluator(q)).first;
    if (!at->second) return Reason(at->second.error());
    return &*at->second;
  }

  tl::expected<Evaluator, std::string> make_evaluator(const Request& q) const {
    auto platform = find_platform(hwdb, q, q.devices[0]);
    if (!platform) return Reason(platform.error().front().message);
    auto evaluator = Evaluator::make(std::move(*platform), q);
    if (!evaluator) return Reason(evaluator.error().front().message);
    return std::move(*evaluator);
  }

  static std::string compile_key(const Request& q, const Policy& p) {
    std::string key = fmt::format(
        "{}|{}|{}|{}|{}|{}|{}", q.model, q.image.value_or(0), static_cast<int>(q.recipe.mode),
        static_cast<int>(q.recipe.optimizer), static_cast<int>(q.recipe.precision), q.framework,
        p.attention ? static_cast<int>(*p.attention) : -1);
    for (const auto& [name, value] : q.settings) key += "|" + name + "=" + value;
    return key;
  }

  tl::expected<Estimate, std::string> estimate(const Request& q) {
    const auto evaluator = evaluator_for(q);
    if (!evaluator) return Reason(evaluator.error());
    const Policy policy = policy_for((*evaluator)->platform(), q);
    const std::string key = compile_key(q, policy);
    auto at = compiled.find(key);
    Binding binding;
    if (at != compiled.end()) {
      binding = at->second.binding;
      binding[at->second.batch_symbol] = *q.batch;
    }
    if (at == compiled.end() || !guards_hold(at->second.step, binding)) {
      auto model = compile(q, (*evaluator)->platform());
      if (!model) return Reason(model.error().front().message);
      binding = model->binding;
      at = compiled.insert_or_assign(key, std::move(*model)).first;
    }
    auto estimated = (*evaluator)->estimate(at->second, binding);
    if (!estimated) return Reason(estimated.error().front().message);
    return std::move(*estimated);
  }
};

ModelPredictor::ModelPredictor(const Hwdb& hwdb, Request base)
    : state_(std::make_unique<State>(State{hwdb, std::move(base), {}, {}})) {}
ModelPredictor::~ModelPredictor() = default;

namespace {

// The links whose all-reduce a record timed, from what it says of the machine.
std::string link_of(const MeasuredRecord& r) {
  if (r.integer("nodes", 1) > 1) return "infiniband-edr";
  const std::string device = r.text("device");
  if (device.find("sxm2") != std::string::npos)
    return device.find("p100") != std::string::npos ? "nvlink-1" : "nvlink-2";
  const bool single_root = device == "titan-x-pascal" || device == "gtx-1080-ti";
  return single_root ? "pcie-3-x16" : "pcie-3-dual-socket";
}

ValidationLine all_reduce_line(const MeasuredRecord& r, ValidationLine line, const Hwdb& hwdb) {
  line.quantity = "time_ms";
  line.measured = r.number("time_ms");
  const auto bytes = r.number("bytes");
  const auto link = hwdb.link(link_of(r));
  if (!bytes || !line.measured || !link) {
    line.skipped = "the record lacks bytes or time of the all-reduce";
    return line;
  }
  const int64_t gpus = std::max<int64_t>(1, r.integer("n_gpus", 1));
  const LinkPoint& point = link->point(gpus);
  const LinkRates rates{
      .bandwidth = point.bus_bandwidth.value, .latency = point.latency.value, .overlap = 0};
  line.predicted = all_reduce_seconds(*bytes, gpus, rates) * 1e3;
  return line;
}

}  // namespace

std::vector<ValidationLine> ModelPredictor::answer(const MeasuredRecord& r,
                                                   const ValidationLine& blank) {
  if (r.text("quantity") == "allreduce_time") return {all_reduce_line(r, blank, state_->hwdb)};
  std::vector<ValidationLine> lines;
  for (const Predicted& q : quantities()) {
    const auto measured = r.number(q.field);
    if (!measured) continue;
    lines.push_back(blank);
    lines.back().quantity = std::string(q.field);
    lines.back().measured = measured;
  }
  if (lines.empty()) {
    lines.push_back(blank);
    lines[0].quantity = r.text("quantity");
    lines[0].measured = r.number("value");
    lines[0].skipped = lines[0].quantity.empty()
                           ? "the record holds nothing that is predicted"
                           : fmt::format("quantity '{}' is not predicted", lines[0].quantity);
    return lines;
  }
  const auto skip_all = [&](const std::string& reason) {
    for (ValidationLine& l : lines) l.skipped = reason;
    return lines;
  };
  if (blank.device == "unknown" || blank.device == "host" || blank.device.empty()) {
    return skip_all("the record names no GPU");
  }
  if (!r.text("result").empty()) return skip_all("the run failed: " + r.text("result"));
  const auto request = state_->request_for(r);
  if (!request) return skip_all(request.error());
  const auto estimate = state_->estimate(*request);
  if (!estimate) return skip_all(estimate.error());
  for (ValidationLine& l : lines) {
    const auto q = std::find_if(quantities().begin(), quantities().end(),
                                [&](const Predicted& x) { return x.field == l.quantity; });
    const bool decimal = r.text("unit") == "MB" || r.text("unit") == "MB (1e6)";
    const double unit = q->per_unit == kMiB && decimal ? 1e6 : q->per_unit;
    const auto predicted = q->predict(*estimate);
    if (!predicted) {
      l.skipped = fmt::format("{} is not predicted", l.quantity);
      continue;
    }
    l.predicted = *predicted / unit;
    if (const auto range = q->range(*estimate)) {
      l.low = static_cast<double>(range->low) / unit;
      l.high = static_cast<double>(range->high) / unit;
    }
  }
  return lines;
}

}  // namespace plimsoll
