// explain: what a diagnostic code means, where the figures of one node come from, or why two
// figures differ.
#include "estimator/app/report/explain.h"

#include <fmt/format.h>

#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/model_name.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/verb.h"
#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/one_stage.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

struct ExplainFlags {
  SharedFlags shared;
  std::string what;
  bool json = false;
};

int explain_code(const std::string& code, bool json) {
  const auto explanation = find_explanation(code);
  if (!explanation) return report(explanation.error());
  return print(json ? to_json(*explanation) : to_text(*explanation));
}

// "allocated,nvidia-smi" of `what`.
int explain_figures(const Request& request, const Hwdb& hwdb, const ExplainFlags& flags) {
  const size_t comma = flags.what.find(',');
  const auto estimated = estimate(request, hwdb);
  if (!estimated) return report(in_model(estimated.error(), request.model));
  report(in_model(estimated->diagnostics, request.model));
  const auto gap = figure_gap(*estimated, std::string_view(flags.what).substr(0, comma),
                              std::string_view(flags.what).substr(comma + 1));
  if (!gap) return report(gap.error());
  return print(flags.json ? to_json(*gap) : to_text(*gap, page_of({})));
}

int explain_model_node(const ExplainFlags& flags) {
  auto request = request_with_defaults(flags.shared);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "explain layer1.0.conv1");
  if (!hwdb) return report(hwdb.error());
  if (!request->longest.empty() || !request->lengths.empty()) {
    return report(error("E114", "explain looks at one batch, not at --longest or --lengths", {},
                        "give its sizes with --dim NAME=N")
                      .value());
  }
  if (flags.what.find(',') != flags.what.npos) return explain_figures(*request, *hwdb, flags);
  auto platform = find_platform(*hwdb, *request, request->devices.front());
  if (!platform) return report(platform.error());
  if (auto one = check_one_stage(*request, *platform); !one) return report(one.error());
  auto model = compile(*request, *platform);
  if (!model) return report(in_model(model.error(), request->model));
  auto evaluator = Evaluator::make(std::move(*platform), *request);
  if (!evaluator) return report(evaluator.error());
  const auto explained = explain_node(*evaluator, *model, model->binding, flags.what);
  if (!explained) return report(explained.error());
  return print(flags.json ? to_json(*explained) : to_text(*explained, page_of({})));
}

int run_explain(const ExplainFlags& flags) {
  if (!flags.shared.model.empty()) return explain_model_node(flags);
  if (looks_like_code(flags.what)) return explain_code(flags.what, flags.json);
  const std::string model = model_meant(flags.what);
  if (!model.empty()) {
    return report(error("E108", fmt::format("explain which node of {}?", shortened(model, 80)), {},
                        fmt::format("plimsoll explain NODE {0} --gpu ID; plimsoll estimate {0} "
                                    "--gpu ID --layers lists the nodes",
                                    shell_quoted(model)))
                      .value());
  }
  return report(
      {{.code = "E108",
        .severity = Severity::kError,
        .message = "explain what? a code of a message, or a node and its model",
        .place = {},
        .help = "plimsoll explain E241, or plimsoll explain layer1.0.conv1 builtin:resnet50 "
                "--gpu tesla-t4"}});
}

}  // namespace

Verb make_explain(const FlagSet& root) {
  auto flags = std::make_shared<ExplainFlags>();
  FlagSet app = root.add_subcommand("explain",
                                    "Explains a message code, one node of a model (bytes, "
                                    "kernels, limits), or why two figures of a model differ.");
  app.add_option("what", flags->what,
                 "E241, a node or module, or two figures: allocated,nvidia-smi")
      .group(kVerbGroup);
  add_shared(app, flags->shared);
  app.add_flag("--json", flags->json, "print the result as JSON").group(kOutputGroup);
  return {app, [flags] { return run_explain(*flags); }};
}

}  // namespace plimsoll::cli
