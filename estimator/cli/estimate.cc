#include <fmt/format.h>

#include <optional>

#include "estimator/cli/ask_cudnn.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output_file.h"
#include "estimator/cli/values.h"
#include "estimator/cli/verb.h"
#include "estimator/estimator.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"
#include "estimator/report/trace.h"

namespace plimsoll::cli {
namespace {

struct EstimateFlags {
  SharedFlags shared;
  std::string trace;  // a file to write
  bool force = false;
  bool ask_cudnn = false;
  bool json = false, layers = false, why = false, kernels = false;
};

// What shapes the text shapes no JSON, which has all; --force is about a file.
Diagnostics idle_here(const EstimateFlags& flags) {
  const bool depth = value_of(flags.shared, "depth") != nullptr;
  const std::pair<const char*, bool> of_text[] = {
      {"layers", flags.layers}, {"why", flags.why}, {"kernels", flags.kernels}, {"depth", depth}};
  Diagnostics said;
  for (const auto& [name, given] : of_text) {
    if (given && flags.json)
      said.push_back(
          warning("W516", fmt::format("--{} has no effect with --json, which has all", name)));
  }
  if (flags.force && flags.trace.empty())
    said.push_back(warning("W516", "--force has no effect: only --trace writes a file"));
  return said;
}

int run_estimate(const EstimateFlags& flags) {
  auto request = to_request(flags.shared);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "estimate");
  if (!hwdb) return report(hwdb.error());
  if (const int fault = report(as_strict(idle_here(flags), request->strict)); fault != 0)
    return fault;
  TextOptions text{.layers = flags.layers, .why = flags.why, .kernels = flags.kernels};
  if (const std::string* depth = value_of(flags.shared, "depth")) {
    auto value = parse_count("--depth", *depth, 1, 64);
    if (!value) return report(value.error());
    text.depth = *value;
  }
  request->trace = !flags.trace.empty();
  request->minimum = flags.json;
  std::optional<OutputFile> trace;
  if (request->trace) {
    auto opened = OutputFile::open(flags.trace, flags.force);
    if (!opened) return report(opened.error());
    trace.emplace(std::move(*opened));
  }
  if (flags.ask_cudnn) {
    auto asked = ask_cudnn(*request, *hwdb);
    if (!asked) return report(in_model(asked.error(), request->model));
    request->asked = std::move(*asked);
  }
  auto estimated = estimate(*request, *hwdb);
  if (!estimated) return report(in_model(estimated.error(), request->model));
  const int status =
      report(as_strict(in_model(estimated->diagnostics, request->model), request->strict));
  if (status != 0) return status;
  if (trace) {
    auto written = trace->write(to_chrome_trace(*estimated->trace));
    if (!written) return report(written.error());
  }
  return print(flags.json ? to_json(*estimated) : to_text(*estimated, text),
               estimated->fits ? 0 : 1);
}

}  // namespace

Verb make_estimate(CLI::App& root) {
  auto flags = std::make_shared<EstimateFlags>();
  CLI::App* app = root.add_subcommand("estimate",
                                      "peak memory, step time and their breakdown; exit 0 where "
                                      "the point estimate fits, 1 where it "
                                      "does not; MAY FIT: the capacity is inside its range");
  add_shared(*app, flags->shared);
  add_value(*app, flags->shared, "depth", "fold layers into modules of so many path parts");
  app->add_flag("--json", flags->json, "the whole estimate as JSON");
  app->add_flag("--layers", flags->layers, "a line per layer");
  app->add_flag("--kernels", flags->kernels, "distinct kernels by their share of the time");
  app->add_option("--trace", flags->trace,
                  "write the step as a Chrome trace: launches, and live bytes by role");
  app->add_flag("--ask-cudnn", flags->ask_cudnn,
                "workspaces as this machine's cuDNN answers, asked by plimsoll-calibrate; no GPU");
  app->add_flag("--force", flags->force, "overwrite the trace's file");
  app->add_flag("--why", flags->why, "every kept tensor, who keeps it and by which rule");
  return {app, [flags] { return run_estimate(*flags); }};
}

}  // namespace plimsoll::cli
