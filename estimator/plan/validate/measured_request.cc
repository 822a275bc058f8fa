#include "estimator/plan/validate/measured_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

template <class T>
struct Word {
  std::string_view word;
  T value;
};

// The row whose word begins the text.
template <class T, size_t N>
std::optional<T> look_up(std::string_view text, const Word<T> (&rows)[N]) {
  const auto row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Word<T>& w) { return text.starts_with(w.word); });
  return row == std::end(rows) ? std::nullopt : std::optional(row->value);
}

std::optional<Loss> loss_of(std::string_view word) {
  constexpr Word<Loss> kRows[] = {{"cross_entropy", Loss::kCrossEntropy},
                                  {"mse", Loss::kMse},
                                  {"bce", Loss::kBce},
                                  {"sum", Loss::kSum},
                                  {"none", Loss::kNone}};
  return look_up(word, kRows);
}

std::optional<Mode> mode_of(std::string_view word) {
  constexpr Word<Mode> kRows[] = {{"train_no_update", Mode::kTrainNoUpdate},
                                  {"train", Mode::kTrain},
                                  {"inference", Mode::kInference},
                                  {"forward", Mode::kInference}};
  return word.empty() ? Mode::kTrain : look_up(word, kRows);
}

// The parameters of builtin:mlp. A list of all layers' widths ends with the output's.
void set_mlp(const MeasuredRun& run, Request& q) {
  std::vector<int64_t> widths = run.linear_widths.empty() ? run.hidden_widths : run.linear_widths;
  if (widths.empty() && run.hidden) widths = {*run.hidden};
  if (run.output && !run.linear_widths.empty() && widths.back() == *run.output) widths.pop_back();
  if (!run.input.empty()) q.settings["features"] = fmt::format("{}", run.input.front());
  q.settings["widths"] = fmt::format("{}", fmt::join(widths, ","));
  if (run.output) q.settings["outputs"] = fmt::format("{}", *run.output);
  if (!run.activation.empty()) q.settings["activation"] = run.activation;
  if (run.batchnorm) q.settings["batch_norm"] = *run.batchnorm ? "1" : "0";
  // A source that only says there is dropout: the ratio changes neither bytes nor time.
  if (run.has_dropout) q.settings["dropout"] = *run.has_dropout ? "0.5" : "0";
  if (run.dropout) q.settings["dropout"] = fmt::format("{}", *run.dropout);
}

void set_input(const MeasuredRun& run, Request& q) {
  if (run.model == "mlp") {
    set_mlp(run, q);
  } else if (run.input.size() == 3 && !run.own_size.value_or(false)) {
    q.image = run.input[1];
  } else if (run.input.size() == 1 && !run.sequence.empty()) {
    q.dims[run.sequence] = run.input[0];
  }
  if (run.sequence_length) q.dims["sequence"] = *run.sequence_length;
}

tl::expected<void, std::string> set_recipe(const MeasuredRun& run, Request& q) {
  const auto mode = mode_of(run.mode);
  if (!mode) return Reason(fmt::format("mode '{}' is not known", run.mode));
  q.recipe.mode = *mode;
  if (run.has_dropout && !*run.has_dropout) q.recipe.ignore_dropout = true;
  if (!run.optimizer.empty()) q.recipe.optimizer = spoken_optimizer(run.optimizer);
  if (!q.recipe.optimizer) return Reason(fmt::format("optimizer '{}' is not known", run.optimizer));
  // Half storage with fp32 arithmetic keeps the same bytes as half.
  if (!run.dtype.empty()) q.recipe.precision = spoken_precision(run.dtype);
  if (!q.recipe.precision) return Reason(fmt::format("dtype '{}' is not known", run.dtype));
  q.recipe.batch_statistics = run.batch_statistics.value_or(false);
  if (run.cudnn_rnn == "Yes" || run.cudnn_rnn == "No") q.recipe.unrolled = run.cudnn_rnn == "No";
  if (run.weight_decay) q.recipe.weight_decay = *run.weight_decay;
  q.recipe.compiled = run.compiled.value_or(false);
  if (run.loss.empty()) return {};
  const auto loss = loss_of(run.loss);
  if (!loss) return Reason(fmt::format("loss '{}' is not known", run.loss));
  q.recipe.loss = *loss;
  q.loss_given = true;
  return {};
}

// Framework, libraries, and what the source says of its timer.
tl::expected<void, std::string> set_habits(const MeasuredRun& run, Request& q) {
  if (!run.framework.empty()) {
    q.framework = run.framework_id();
    if (q.framework.empty())
      return Reason(fmt::format("framework '{}' is not modelled", run.framework));
  }
  if (const auto version = version_as_written(run.cudnn)) q.cudnn = version->text();
  if (const auto version = version_as_written(run.cuda)) q.cuda = version->text();
  if (!run.module_loading.empty()) {
    q.module_loading = parse_module_loading(run.module_loading);
    if (!q.module_loading)
      return Reason(fmt::format("module_loading '{}' is not known", run.module_loading));
  }
  if (run.conv_library.find("im2col") != std::string::npos)
    q.conv_algorithm = {.policy = AlgorithmPolicy::kIm2col};
  if (!run.host.empty()) q.host = run.host;
  q.cpu = run.cpu;
  q.cuda_graphs = run.cuda_graphs.value_or(false);
  if (run.workers) q.workers = *run.workers;
  q.layout = layout_from_name(run.layout);
  if (run.attention == "math") q.attention = AskedAttention::kMath;
  if (run.attention == "fused") q.attention = AskedAttention::kFused;
  if (run.cudnn_benchmark) q.cudnn_benchmark = run.cudnn_benchmark;
  if (run.input_gradient) q.input_gradient = run.input_gradient;
  if (run.input_copy) q.input_copy = run.input_copy;
  if (run.prefetch) q.prefetch = *run.prefetch;
  q.samples_in_memory = run.samples.value_or(0);
  q.share_storages = run.shares_storages();
  if (q.gpu_count > 1) q.link = link_of(run);
  if (run.parallelism == "nn.DataParallel") q.exchange = kDataParallel;
  return {};
}

}  // namespace

std::string link_of(const MeasuredRun& run) {
  if (!run.link.empty()) return run.link;
  if (run.nodes.value_or(1) > 1) return "infiniband-edr";
  if (run.device.find("p100-sxm2") != std::string::npos) return "nvlink-1";
  if (run.device.find("v100-sxm2") != std::string::npos) return "nvlink-2";
  if (run.device.starts_with("a100")) return "nvlink-3";
  if (run.device.starts_with("h100")) return "nvlink-4";
  const bool single_root = run.device == "titan-x-pascal" || run.device == "gtx-1080-ti";
  return single_root ? "pcie-3-x16" : "pcie-3-dual-socket";
}

std::optional<Version> version_as_written(std::string_view text) {
  if (!text.empty() && (text.front() == 'R' || text.front() == 'v')) text.remove_prefix(1);
  auto version = parse_version(text);
  if (version && version->numbers.size() == 1 && version->numbers[0] >= 1000) {
    const int number = version->numbers[0];
    version->numbers = {number / 1000, number / 100 % 10, number % 100};
  }
  return version;
}

tl::expected<Request, std::string> request_of(const MeasuredRun& run, const Request& base) {
  if (run.model.empty()) return Reason("the record names no model");
  const bool recompute = run.recompute.value_or(false);
  if (recompute && !run.framework_id().starts_with("mxnet"))
    return Reason("recomputation of the framework's own choosing");
  Request q = base;
  const std::string& model = run.network.empty() ? run.model : run.network;
  const bool path = model.ends_with(".onnx") || model.ends_with(".json");
  q.model = path || model.starts_with("builtin:") ? model : "builtin:" + model;
  q.devices = {run.device};
  q.gpu_count = std::max<int64_t>(1, run.n_gpus.value_or(1));
  if (run.batch_per_gpu) {
    q.batch = *run.batch_per_gpu;
  } else if (run.batch) {
    q.batch = *run.batch / q.gpu_count;
  } else if (!q.batch) {
    return Reason("the record names no batch");
  }
  // What the net file names is held; what the run feeds is what takes time.
  if (run.least_batch && !run.value("total_ms")) q.batch = std::max(*q.batch, *run.least_batch);
  if (*q.batch < 1) return Reason("the batch is smaller than the number of GPUs");
  if (auto recipe = set_recipe(run, q); !recipe) return Reason(recipe.error());
  if (recompute) q.recipe.checkpoint = "mirror";
  if (auto habits = set_habits(run, q); !habits) return Reason(habits.error());
  set_input(run, q);
  return q;
}

}  // namespace plimsoll
