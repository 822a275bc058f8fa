#include <algorithm>

#include "estimator/cli/options.h"
#include "estimator/cli/values.h"
#include "estimator/cli/verb.h"
#include "estimator/estimator.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"

namespace plimsoll::cli {
namespace {

struct EstimateFlags {
  SharedFlags shared;
  bool json = false, layers = false, why = false, kernels = false;
};

int run_estimate(const EstimateFlags& flags) {
  auto request = to_request(flags.shared);
  if (!request) return report(request.error());
  if (request->model.empty()) {
    return report({{.code = "E108",
                    .severity = Severity::kError,
                    .message = "which model? name a file or builtin:NAME",
                    .place = {},
                    .help = "plimsoll estimate builtin:resnet50 --gpu quadro-p4000"}});
  }
  if (request->devices.empty()) {
    return report({{.code = "E109",
                    .severity = Severity::kError,
                    .message = "which GPU? give --gpu ID",
                    .place = {},
                    .help = "'plimsoll gpus' lists them"}});
  }
  TextOptions text{.layers = flags.layers, .why = flags.why, .kernels = flags.kernels};
  if (const auto depth = flags.shared.values.find("depth");
      depth != flags.shared.values.end() && !depth->second.empty()) {
    auto value = parse_count("--depth", depth->second, 1, 64);
    if (!value) return report(value.error());
    text.depth = *value;
  }
  auto hwdb = Hwdb::open(request->hwdb_directory);
  if (!hwdb) return report(hwdb.error());
  auto estimated = estimate(*request, *hwdb);
  if (!estimated) {
    Diagnostics problems = estimated.error();
    for (Diagnostic& d : problems) {
      const bool about_the_file = d.code.starts_with("E2") || d.code.starts_with("E8");
      if (d.place.file.empty() && about_the_file) d.place.file = request->model;
    }
    return report(problems);
  }
  report(estimated->diagnostics);
  const bool refused =
      request->strict &&
      std::any_of(estimated->diagnostics.begin(), estimated->diagnostics.end(),
                  [](const Diagnostic& d) { return d.severity == Severity::kWarning; });
  if (refused) return 3;
  return print(flags.json ? to_json(*estimated) : to_text(*estimated, text),
               estimated->fits ? 0 : 1);
}

}  // namespace

Verb make_estimate(CLI::App& root) {
  auto flags = std::make_shared<EstimateFlags>();
  CLI::App* app = root.add_subcommand(
      "estimate", "peak memory, step time and their breakdown; exit 0 fits, 1 does not");
  add_shared(*app, flags->shared);
  add_value(*app, flags->shared, "depth", "fold layers into modules of so many path parts");
  app->add_flag("--json", flags->json, "the whole estimate as JSON");
  app->add_flag("--layers", flags->layers, "a line per layer");
  app->add_flag("--kernels", flags->kernels, "distinct kernels by their share of the time");
  app->add_flag("--why", flags->why, "every kept tensor, who keeps it and by which rule");
  return {app, [flags] { return run_estimate(*flags); }};
}

}  // namespace plimsoll::cli
