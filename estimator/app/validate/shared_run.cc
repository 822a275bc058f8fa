#include "estimator/app/validate/shared_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "graph/builtin/builtin.h"
#include "graph/family/family.h"
#include "graph/json/writer.h"
#include "hwdb/measured/keys.h"

namespace plimsoll {
namespace {

// What a record keeps beside its measurements. Others may name something of the user's: a host, a
// data set, a file.
constexpr std::string_view kShared[] = {"framework",      "framework_version",
                                        "cudnn",          "cuda",
                                        "dtype",          "mode",
                                        "optimizer",      "batch",
                                        "batch_per_gpu",  "micro_batch",
                                        "accumulation",   "checkpoint",
                                        "finetune",       "lora_rank",
                                        "lora_alpha",     "lora_targets",
                                        "quantize",       "n_gpus",
                                        "link",           "layout",
                                        "loss",           "workers",
                                        "loader",         "cudnn_benchmark",
                                        "weight_decay",   "compile",
                                        "cuda_graphs",    "attention",
                                        "zero_grad",      "half_norms",
                                        "exchange",       "cpu",
                                        "module_loading", "input_gradient",
                                        "memory_counter", "ran",
                                        "out_of_memory",  "prefetch"};

bool is_public(std::string_view model) {
  if (model.starts_with("hf:")) {
    const std::vector<std::string> known = published_models();
    return std::ranges::find(known, model.substr(3)) != known.end();
  }
  if (model.starts_with("builtin:")) model.remove_prefix(8);
  return find_builtin(model).has_value();
}

// A text that may be a path or an address is not given away.
bool may_name(std::string_view text) { return text.find_first_of("/\\@") != text.npos; }

void write_value(JsonWriter& out, std::string_view key, const JsonValue& value) {
  if (const std::string* text = value.string()) {
    if (!may_name(*text)) out.key(key).string(*text);
  } else if (const auto flag = value.boolean()) {
    out.key(key).boolean(*flag);
  } else if (const auto number = value.integer()) {
    out.key(key).integer(*number);
  }
}

void write_record(JsonWriter& out, const MeasuredRun& run) {
  out.key("kind").string(name(run.kind));
  out.key("device").string(run.device);
  out.key("model").string(run.model);
  for (const std::string_view key : kShared) {
    if (const auto value = value_of(run, key)) write_value(out, key, *value);
  }
  if (run.nodes) out.key("nodes").integer(*run.nodes);
  if (run.sequence_length) out.key("seq").integer(*run.sequence_length);
  if (!run.input.empty()) {
    out.key("input").begin_array();
    for (const int64_t extent : run.input) out.integer(extent);
    out.end_array();
  }
  for (const Measurement& one : run.measured) out.key(one.name).real(one.value);
}

tl::unexpected<Diagnostics> cannot(const MeasuredRun& run, std::string_view why, std::string help) {
  return error("E533", fmt::format("run {}: {}", run.index, why), {}, std::move(help));
}

Result<void> check_run(const MeasuredRun& run) {
  if (run.device.empty() || may_name(run.device))
    return cannot(run, "it names no GPU", "add \"device\": a name of 'plimsoll gpus'");
  if (!is_public(run.model))
    return cannot(
        run, fmt::format("'{}' is not a model that comes with Plimsoll", shortened(run.model, 60)),
        "share runs of builtin:NAME or hf:NAME; 'plimsoll models' lists them");
  if (run.measured.empty())
    return cannot(run, "nothing was measured", "'plimsoll schema measured-run' lists the figures");
  return {};
}

}  // namespace

Result<std::string> to_shared(const std::vector<MeasuredRun>& runs, std::string_view version) {
  for (const MeasuredRun& run : runs) {
    TRY(check_run(run));
  }
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("source").begin_object();
  out.key("title").string(fmt::format("written by plimsoll share {}", version));
  out.end_object();
  out.key("records").objects(runs, [&](const MeasuredRun& run) { write_record(out, run); });
  out.end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
