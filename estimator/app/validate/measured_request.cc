#include "estimator/app/validate/measured_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/settings/records.h"
#include "estimator/settings/setting_row.h"
#include "graph/builtin/builtin.h"
#include "graph/family/family.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

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

// A decoder whose sizes the record says, of a network with parameters of these names.
void set_sizes(const MeasuredRun& run, Request& q) {
  const auto set = [&](const char* name, const std::optional<int64_t>& size) {
    if (size) q.settings[name] = fmt::format("{}", *size);
  };
  set("hidden", run.hidden);
  set("layers", run.layers);
  set("heads", run.heads);
  set("vocabulary", run.vocab);
}

void set_input(const MeasuredRun& run, Request& q) {
  if (run.vocab) set_sizes(run, q);
  if (run.model == "mlp") {
    set_mlp(run, q);
  } else if (run.input.size() == 3 && !run.own_size.value_or(false)) {
    q.image = run.input[1];
  } else if (run.input.size() == 1 && !run.sequence.empty()) {
    q.dims[run.sequence] = run.input[0];
  }
  if (run.resolution) q.image = *run.resolution;
  if (run.sequence_length) q.dims["sequence"] = *run.sequence_length;
}

// What the source says of its timer and its program.
void set_program(const MeasuredRun& run, Request& q) {
  if (run.has_dropout && !*run.has_dropout) q.recipe.ignore_dropout = true;
  q.recipe.batch_statistics = run.batch_statistics.value_or(false);
  if (run.conv_library.find("im2col") != std::string::npos)
    q.conv_algorithm = {.policy = AlgorithmPolicy::kIm2col};
  q.cpu = run.cpu;
  if (run.input_copy) q.input_copy = run.input_copy;
  q.share_storages = run.shares_storages();
  if (run.parallelism == "nn.DataParallel") q.exchange = kDataParallel;
}

tl::expected<void, std::string> set_sharing(const MeasuredRun& run, Request& q) {
  if (!run.parallel.empty()) {
    const SettingRow& row = *find_setting("parallel");
    const auto read = row.value.read(row, run.parallel, q);
    if (!read) return Reason(read.error().front().message);
  }
  q.network = run.node_link;
  const bool tiers = !q.network.empty() && run.nodes.value_or(1) > 1;
  if (tiers) q.nodes = *run.nodes;
  if (q.gpu_count > q.nodes) q.link = tiers ? run.link : link_of(run);
  return {};
}

// A whole batch and one of a pass tell how many passes there are, where no key does.
tl::expected<void, std::string> set_passes(const MeasuredRun& run, Request& q) {
  if (run.accumulation || !run.batch || run.micro_batch.value_or(0) < 1) return {};
  const auto plan = plan_on(q.parallel, q.gpu_count);
  if (!plan) return Reason(plan.error().front().message);
  const int64_t passes = *run.batch / plan->mesh.replicas() / *run.micro_batch;
  q.recipe.accumulate = std::max<int64_t>(1, passes);
  return {};
}

// Of a GPU in one pass. Ranks that share each sample's work have the same ones.
tl::expected<void, std::string> set_batch(const MeasuredRun& run, Request& q) {
  const int64_t passes = std::max<int64_t>(1, run.accumulation.value_or(1));
  if (run.micro_batch) {
    q.batch = *run.micro_batch;
  } else if (run.batch_per_gpu) {
    q.batch = *run.batch_per_gpu / passes;
  } else if (run.batch) {
    const auto plan = plan_on(q.parallel, q.gpu_count);
    if (!plan) return Reason(plan.error().front().message);
    q.batch = *run.batch / plan->mesh.replicas() / passes;
  } else if (!q.batch) {
    return Reason("the record names no batch: key micro_batch is missing");
  }
  // What the net file names is held; what the run feeds is what takes time.
  if (run.least_batch && !run.value("total_ms")) q.batch = std::max(*q.batch, *run.least_batch);
  if (*q.batch < 1) return Reason("the batch is smaller than the number of GPUs");
  return {};
}

// A path, or a name of what is built in or published.
std::string model_of(const std::string& name) {
  const bool given =
      name.ends_with(".onnx") || name.ends_with(".json") || name.find(':') != name.npos;
  if (given) return name;
  const bool published = !find_builtin(name) && published_config(name);
  return (published ? "hf:" : "builtin:") + name;
}

tl::expected<void, std::string> set_framework(const MeasuredRun& run, Request& q) {
  if (run.framework.empty()) return {};
  q.framework = run.framework_id();
  if (q.framework.empty())
    return Reason(fmt::format("framework '{}' is not modelled", run.framework));
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
  for (const char* newer : {"a800", "h200", "h800", "b200", "gb200"}) {
    if (run.device.starts_with(newer)) return {};  // the card's own
  }
  const bool single_root = run.device == "titan-x-pascal" || run.device == "gtx-1080-ti";
  return single_root ? "pcie-3-x16" : "pcie-3-dual-socket";
}

tl::expected<Request, std::string> request_of(const MeasuredRun& run, const Request& base) {
  if (run.model.empty()) return Reason("the record names no model");
  if (run.n_gpus && *run.n_gpus < 1) return Reason("the record has no GPU: n_gpus is 0");
  const bool recompute = run.recompute.value_or(false);
  if (recompute && !run.framework_id().starts_with("mxnet"))
    return Reason("the framework chooses what to recompute");
  Request q = base;
  q.model = model_of(run.network.empty() ? run.model : run.network);
  q.devices = {run.device};
  q.gpu_count = std::max<int64_t>(1, run.n_gpus.value_or(1));
  if (auto read = read_settings(run, q); !read) return Reason(read.error());
  if (auto shared = set_sharing(run, q); !shared) return Reason(shared.error());
  if (auto passes = set_passes(run, q); !passes) return Reason(passes.error());
  if (auto batch = set_batch(run, q); !batch) return Reason(batch.error());
  if (recompute) q.recipe.checkpoint = "mirror";
  if (auto framework = set_framework(run, q); !framework) return Reason(framework.error());
  if (!run.mixed_precision.empty())
    return Reason(fmt::format("mixed_precision '{}' is not known", run.mixed_precision));
  const bool text = q.model.starts_with("hf:") || run.vocab;
  if (text && !run.sequence_length)
    return Reason("the record does not say how long sequences are: key seq is missing");
  set_program(run, q);
  set_input(run, q);
  return q;
}

}  // namespace plimsoll
