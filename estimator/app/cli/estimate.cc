#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "estimator/answer/on_host.h"
#include "estimator/app/cli/ask_cudnn.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/read_request.h"
#include "estimator/app/cli/result_file.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/html/estimate_page.h"
#include "estimator/app/report/estimate_tables.h"
#include "estimator/app/report/json.h"
#include "estimator/app/report/text.h"
#include "estimator/app/report/trace.h"
#include "estimator/app/report/trade.h"
#include "estimator/app/search/largest_batch.h"
#include "estimator/app/search/remedies.h"
#include "estimator/estimator.h"
#include "estimator/settings/values.h"
#include "graph/base/distinct_files.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

struct EstimateFlags {
  SharedFlags shared;
  std::string trace, html;  // files to write
  std::string from;         // an answer that is asked again
  bool force = false;
  bool ask_cudnn = false;
  OutputFlags output;
  bool layers = false, why = false, kernels = false, metrics = false, basis = false;
};

// What shapes the text shapes no JSON, which has all; --force is about a file.
Diagnostics idle_here(const EstimateFlags& flags) {
  const bool depth = value_of(flags.shared, "depth") != nullptr;
  const bool one_table = flags.output.table() != nullptr;
  const std::tuple<const char*, bool, bool> of_text[] = {
      {"layers", flags.layers, false},   {"why", flags.why, true},
      {"kernels", flags.kernels, false}, {"metrics", flags.metrics, true},
      {"basis", flags.basis, true},      {"depth", depth, false}};
  Diagnostics said;
  for (const auto& [name, given, no_table] : of_text) {
    if (given && flags.output.json)
      said.push_back(
          warning("W516", fmt::format("--{} has no effect with --json, which has all", name)));
    if (given && no_table && one_table)
      said.push_back(warning("W516", fmt::format("--{} has no effect on tables of layers", name)));
  }
  if (flags.force && flags.trace.empty() && flags.html.empty())
    said.push_back(warning("W516", "--force has no effect: only --trace and --html write a file"));
  return said;
}

// "1..8" of --gpus, taken out of the flags; nothing where it says one number.
Result<std::optional<std::pair<int64_t, int64_t>>> take_counts(SharedFlags& flags) {
  const std::string* text = value_of(flags, "gpus");
  const size_t dots = text ? text->find("..") : std::string::npos;
  if (dots == std::string::npos) return std::nullopt;
  constexpr int64_t kMost = 1024;
  const auto first = TRY(parse_count(setting("gpus"), text->substr(0, dots), 1, kMost));
  const auto last = TRY(parse_count(setting("gpus"), text->substr(dots + 2), first, kMost));
  flags.erase("gpus");
  return std::optional(std::pair(first, last));
}

// Whether --workspace-limit is "sweep", taken out of the flags.
bool take_sweep(SharedFlags& flags) {
  const std::string* text = value_of(flags, "workspace-limit");
  if (!text || *text != "sweep") return false;
  flags.erase("workspace-limit");
  return true;
}

// Of a run on the host memory alone is known: no views of time, no several runs.
Result<void> check_host_views(const Request& request, const EstimateFlags& flags, bool several) {
  const bool of_time = !flags.html.empty() || !flags.trace.empty() || flags.kernels;
  const bool on_host = !request.devices.empty() && is_host_device(request.devices.front());
  return on_host && (several || of_time || flags.ask_cudnn) ? of_memory_alone() : Result<void>();
}

// One step under several settings instead of one answer.
template <class Rows>
int print_rows(const Result<Rows>& rows, const OutputFlags& output) {
  if (!rows) return report(rows.error());
  if (output.table()) return print_table(to_table(*rows), output);
  return print(output.json ? to_json(*rows) : to_text(*rows, page_of(output)));
}

std::string answer_of(const Estimate& estimate, const EstimateFlags& flags, const TextOptions& text,
                      const LargestBatch* batches) {
  if (flags.output.json) return to_json(estimate, {.batches = batches});
  const TableForm* const form = flags.output.table();
  if (!form) return to_text(estimate, text);
  const Table table = flags.kernels ? kernel_table(estimate) : layer_table(estimate, text.depth);
  return (table.*form->write)();
}

Result<TextOptions> text_options(const EstimateFlags& flags) {
  TextOptions text{.layers = flags.layers,
                   .why = flags.why,
                   .kernels = flags.kernels,
                   .metrics = flags.metrics,
                   .basis = flags.basis,
                   .quiet = flags.output.quiet,
                   .page = page_of(flags.output)};
  if (const std::string* depth = value_of(flags.shared, "depth")) {
    auto value = TRY(parse_count(setting("depth"), *depth, 1, 64));
    text.depth = value;
  }
  return text;
}

int run_estimate(EstimateFlags flags) {
  if (!flags.from.empty()) {
    if (auto asked = ask_again(flags.from, flags.shared); !asked) return report(asked.error());
  }
  const auto counts = take_counts(flags.shared);
  if (!counts) return report(counts.error());
  const bool knees = take_sweep(flags.shared);
  // An answer's own defaults hold, not those of who asks again.
  std::vector<NamedFile> read = files_named_by(flags.shared);
  auto request = flags.from.empty() ? request_with_defaults(flags.shared, {}, &read)
                                    : to_request(flags.shared);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "estimate");
  if (!hwdb) return report(hwdb.error());
  auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  std::ranges::move(idle_here(flags), std::back_inserter(*idle));
  if (const int fault = report(as_strict(*idle, request->strict)); fault != 0) return fault;
  if (auto whole = check_host_views(*request, flags, *counts || knees); !whole)
    return report(whole.error());
  if (*counts)
    return print_rows(scaling(*request, *hwdb, (*counts)->first, (*counts)->second), flags.output);
  if (knees) return print_rows(workspace_knees(*request, *hwdb), flags.output);
  const auto text = text_options(flags);
  if (!text) return report(text.error());
  request->trace = !flags.trace.empty();
  request->detail = !flags.html.empty();
  request->minimum = flags.output.json || request->detail;
  read.push_back({"from", flags.from});
  if (auto distinct = distinct_files({{"trace", flags.trace}, {"html", flags.html}}, read);
      !distinct)
    return report(distinct.error());
  std::optional<OutputFile> trace, page;
  if (auto opened = OutputFile::open_if_named(flags.trace, flags.force, trace); !opened)
    return report(opened.error());
  if (auto opened = OutputFile::open_if_named(flags.html, flags.force, page); !opened)
    return report(opened.error());
  if (flags.ask_cudnn) {
    auto asked = ask_cudnn(*request, *hwdb);
    if (!asked) return report(in_model(asked.error(), request->model));
    request->asked = std::move(*asked);
  }
  ModelCache models;
  auto estimated = estimate(*request, *hwdb, &models);
  if (!estimated) return report(in_model(estimated.error(), request->model));
  const int status =
      report(as_strict(in_model(estimated->diagnostics, request->model), request->strict));
  if (status != 0) return status;
  if (trace) {
    auto written = trace->write(to_chrome_trace(*estimated->trace, estimated->time.lanes));
    if (!written) return report(written.error());
  }
  const bool tables_alone = flags.output.quiet || flags.output.table() != nullptr;
  if (estimated->memory.verdict != Verdict::kFits && !estimated->on_host && (!tables_alone || page))
    estimated->remedies = remedies(*request, *hwdb, *estimated, models);
  std::optional<Result<LargestBatch>> batches;
  if (page) {
    constexpr size_t kRounds = 40;  // all of them
    batches = largest_batch(*request, *hwdb, {.rounds = kRounds, .parts = true});
    const int fault = write_page(*page, estimate_page(*estimated, *batches, command_line()));
    if (fault != 0) return fault;
  }
  const LargestBatch* known = batches && *batches ? &**batches : nullptr;
  const bool yes = estimated->fits || !estimated->judged();
  return print(answer_of(*estimated, flags, *text, known), yes ? 0 : 1);
}

}  // namespace

Verb make_estimate(const FlagSet& root) {
  auto flags = std::make_shared<EstimateFlags>();
  FlagSet app = root.add_subcommand(
      "estimate", "Peak memory and step time with their parts. Exit status 0 if it fits, else 1.");
  add_shared(app, flags->shared);
  app.add_option("--from", flags->from,
                 "repeat the request of a saved answer (--json or --html); other options win")
      .type_name("ANSWER")
      .group(rarely(settings().front().group));
  add_output(app, flags->output, "the whole estimate as JSON",
             "layers, or kernels with --kernels,");
  const auto add = [&](const char* name, bool& into, const char* help, const std::string& group) {
    app.add_flag(name, into, help).group(group);
  };
  add("--layers", flags->layers, "a line per layer", kOutputGroup);
  add_value(app, flags->shared, "depth", "sum layers by the first N parts of their modules' paths",
            "N", rarely(kOutputGroup));
  add("--kernels", flags->kernels, "distinct kernels by share of time", kOutputGroup);
  add("--metrics", flags->metrics,
      "throughput, utilisations, PCIe, memory and kernels by category, with definitions",
      rarely(kOutputGroup));
  add("--basis", flags->basis, "where the figures come from, and the defaults in use",
      rarely(kOutputGroup));
  add("--why", flags->why, "every tensor kept for backward, and why", rarely(kOutputGroup));
  app.add_option("--trace", flags->trace,
                 "the step as a Chrome trace: launches, and live bytes by role")
      .type_name("FILE")
      .group(rarely(kOutputGroup));
  app.add_option("--html", flags->html, "write an HTML report with charts and tables")
      .type_name("FILE")
      .group(kOutputGroup);
  add("--force", flags->force, "overwrite the files of --trace and --html", rarely(kOutputGroup));
  add("--ask-cudnn", flags->ask_cudnn,
      "workspaces from this machine's cuDNN, through plimsoll-calibrate; no GPU needed",
      rarely("Framework and libraries"));
  return {app, [flags] { return run_estimate(*flags); }};
}

}  // namespace plimsoll::cli
