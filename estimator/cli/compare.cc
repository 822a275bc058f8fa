#include <fmt/format.h>

#include <algorithm>

#include "estimator/cli/options.h"
#include "estimator/cli/verb.h"
#include "estimator/estimator.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

std::string_view verdict_word(Verdict verdict) {
  if (verdict == Verdict::kFits) return "";
  return verdict == Verdict::kMayFit ? "  may fit" : "  does not fit";
}

std::string table(const std::vector<Estimate>& estimates) {
  int64_t best = estimates.front().time.step_ns;
  for (const Estimate& e : estimates) best = std::min(best, e.time.step_ns);
  std::string text = fmt::format("{:<22}{:>11}{:>11}{:>7}{:>11}{:>12}{:>10}\n", "gpu", "memory",
                                 "peak", "of", "step", "per second", "relative");
  for (const Estimate& e : estimates) {
    text += escaped_format(
        "{:<22}{:>11}{:>11}{:>5.0f} %{:>11}{:>12.1f}{:>10.2f}{}\n", e.device_id,
        human_bytes(e.usable_bytes), human_bytes(e.memory.device_bytes),
        100.0 * static_cast<double>(e.memory.device_bytes) /
            static_cast<double>(std::max<int64_t>(1, e.usable_bytes)),
        human_time(e.time.step_ns), e.time.samples_per_second,
        static_cast<double>(e.time.step_ns) / static_cast<double>(std::max<int64_t>(1, best)),
        verdict_word(e.memory.verdict));
  }
  return text;
}

int run_compare(const SharedFlags& flags, bool json) {
  auto request = to_request(flags);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "compare", Gpus::kSeveral);
  if (!hwdb) return report(hwdb.error());
  std::vector<Estimate> estimates;
  request->minimum = json;
  const std::vector<std::string> devices = request->devices;
  for (const std::string& device : devices) {
    request->devices = {device};
    auto estimated = estimate(*request, *hwdb);
    if (!estimated) return report(in_model(estimated.error(), request->model));
    estimates.push_back(std::move(*estimated));
  }
  const int status =
      report(as_strict(in_model(estimates.front().diagnostics, request->model), request->strict));
  if (status != 0) return status;
  const bool any =
      std::any_of(estimates.begin(), estimates.end(), [](const Estimate& e) { return e.fits; });
  if (!json) return print(table(estimates), any ? 0 : 1);
  std::string text = "[";
  for (size_t i = 0; i < estimates.size(); ++i) text += (i > 0 ? "," : "") + to_json(estimates[i]);
  return print(text + "]\n", any ? 0 : 1);
}

}  // namespace

Verb make_compare(CLI::App& root) {
  auto flags = std::make_shared<SharedFlags>();
  auto json = std::make_shared<bool>(false);
  CLI::App* app = root.add_subcommand("compare", "one model on several GPUs; exit 0 if any fits");
  add_shared(*app, *flags);
  app->add_flag("--json", *json, "a list of estimates");
  return {app, [flags, json] { return run_compare(*flags, *json); }};
}

}  // namespace plimsoll::cli
