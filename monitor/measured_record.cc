#include "monitor/measured_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "estimator/report/version.h"
#include "graph/base/among.h"
#include "graph/json/writer.h"

namespace plimsoll::monitor {
namespace {

constexpr double kMebibyte = 1 << 20;

// Flags whose word is the key's value.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords = {{
    {"mode", "mode"},
    {"optimizer", "optimizer"},
    {"precision", "dtype"},
    {"loss", "loss"},
    {"cudnn", "cudnn"},
    {"cuda", "cuda"},
    {"layout", "layout"},
    {"attention", "attention"},
    {"module-loading", "module_loading"},
    {"link", "link"},
}};
// Flags that to_measured() reads from the request, and those that change no memory of the run.
constexpr std::array<std::string_view, 19> kOthers = {
    "gpu",      "batch", "image",  "framework", "gpus",    "cudnn-benchmark", "weight-decay",
    "prefetch", "host",  "hwdb",   "mem",       "reserve", "display",         "epochs",
    "samples",  "limit", "strict", "model",     "compile"};

bool is_said(std::string_view flag) {
  return std::ranges::any_of(kWords, [&](const auto& row) { return row.first == flag; }) ||
         among(flag, kOthers);
}

void write_framework(JsonWriter& out, std::string_view framework) {
  const size_t dash = framework.find('-');
  out.key("framework").string(framework.substr(0, dash));
  if (dash != framework.npos) out.key("framework_version").string(framework.substr(dash + 1));
}

void write_settings(JsonWriter& out, const RunDescription& run) {
  const Request& q = run.request;
  if (q.batch) out.key("batch").integer(*q.batch * q.gpu_count);
  if (q.gpu_count > 1) out.key("n_gpus").integer(q.gpu_count);
  if (q.image) {
    out.key("input").begin_array();
    out.integer(3).integer(*q.image).integer(*q.image).end_array();
  }
  if (const auto sequence = q.dims.find("sequence"); sequence != q.dims.end())
    out.key("sequence").integer(sequence->second);
  for (const auto& [flag, key] : kWords) {
    const auto word = run.words.find(flag);
    if (word != run.words.end()) out.key(key).string(word->second);
  }
  if (run.words.contains("host")) out.key("host").string(q.host);
  if (q.cudnn_benchmark) out.key("cudnn_benchmark").boolean(*q.cudnn_benchmark);
  if (q.recipe.weight_decay) out.key("weight_decay").boolean(true);
  if (q.recipe.compiled) out.key("compile").boolean(true);
  if (q.prefetch > 0) out.key("prefetch").integer(q.prefetch);
  write_framework(out, q.framework);
}

}  // namespace

std::string to_measured(const RunDescription& run, const Summary& summary) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("source").begin_object();
  out.key("title").string(fmt::format("plimsoll-monitor {}: {}", kVersion, summary.command));
  out.end_object();
  out.key("kind").string("memory");
  out.key("records").begin_array().begin_object();
  const std::string& named = run.request.devices.front();
  out.key("device").string(named == "local" && summary.band ? summary.band->device_id : named);
  out.key("model").string(run.request.model);
  write_settings(out, run);
  if (summary.device_peak) {
    out.key(summary.basis == DeviceBasis::kCard ? "device_used_mb" : "nvidia_smi_mb");
    out.real(static_cast<double>(*summary.device_peak) / kMebibyte);
  }
  out.key("host_mb").real(static_cast<double>(summary.host_peak) / kMebibyte);
  const auto unsaid = unsaid_flags(run);
  if (!unsaid.empty()) {
    out.key("flags").begin_array();
    for (const std::string& flag : unsaid) out.string("not_in_this_form: " + flag);
    out.end_array();
  }
  out.end_object().end_array().end_object();
  return out.take() + "\n";
}

std::vector<std::string> unsaid_flags(const RunDescription& run) {
  const Request& q = run.request;
  std::vector<std::string> flags;
  for (const std::string& flag : q.given) {
    if (!is_said(flag)) flags.push_back("--" + flag);
  }
  for (const auto& [name, value] : q.dims) {
    if (name != "sequence") flags.push_back("--dim " + name);
  }
  for (const auto& [name, value] : q.settings) flags.push_back("--set " + name);
  const std::pair<const char*, bool> maps[] = {{"--shape", !q.shapes.empty()},
                                               {"--trip", !q.trips.empty()},
                                               {"--branch", !q.branches.empty()},
                                               {"--contents", !q.contents.empty()},
                                               {"--assume", !q.assume.empty()}};
  for (const auto& [flag, given] : maps) {
    if (given) flags.emplace_back(flag);
  }
  return flags;
}

}  // namespace plimsoll::monitor
