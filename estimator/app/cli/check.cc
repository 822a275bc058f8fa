// check: whether files are what they should be, for pre-commit and CI. Nothing is estimated.
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/sweep/read_sweep_plan.h"
#include "estimator/model/model_source.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"
#include "hwdb/device.h"
#include "hwdb/host.h"
#include "hwdb/machine.h"
#include "hwdb/measured/reader.h"

namespace plimsoll::cli {
namespace {

// What was found of a file: what it is, and warnings; or errors.
struct Checked {
  std::string kind;
  Diagnostics warnings;
};

template <class Value>
Result<Checked> checked(std::string_view kind, const Result<Value>& value, Diagnostics warnings) {
  if (!value) return tl::make_unexpected(value.error());
  return Checked{std::string(kind), std::move(warnings)};
}

Result<Checked> check_model(const std::string& path) {
  Request request;
  request.model = path;
  const auto model = load_model(request);
  if (model) return Checked{"a model", model->warnings};
  // Sizes that a file leaves open are given with --dim: no fault of the file.
  const bool open = std::ranges::all_of(
      model.error(), [](const Diagnostic& d) { return d.code == "E131" || d.code == "E254"; });
  if (!open) return tl::make_unexpected(in_model(model.error(), path));
  return checked("a model with sizes to give", load_model_inputs(request), {});
}

Result<Checked> check_runs(const ByteSource& source) {
  const auto runs = TRY(read_measured(source, [](MeasuredRun&&) {}));
  return Checked{fmt::format("{} measured runs", runs.runs), runs.warnings};
}

Result<Checked> check_json(const std::string& path, const ByteSource& source,
                           const std::string& text) {
  const auto value = TRY(read_json(text, source.name(), {}));
  const JsonValue* schema = value.find("schema");
  const std::string named = schema && schema->string() ? *schema->string() : "";
  const std::string stem = std::filesystem::path(path).stem().string();
  if (named == "plimsoll.machine")
    return checked("a machine file", read_machine(text, source.name()), {});
  if (named == "plimsoll.host")
    return checked("a host file", read_host(text, source.name(), stem), {});
  if (named == "plimsoll.device")
    return checked("a device file", read_device(text, source.name(), stem), {});
  if (named == "plimsoll.model-config") return check_model(path);
  const bool runs = value.list() || value.find("records");
  if (runs) return check_runs(source);
  if (value.find("parameters") && !value.find("layers"))
    return checked("a plan", read_sweep_plan(text, source.name(), {}), {});
  return check_model(path);
}

Result<Checked> check_file(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  const auto is = [&](auto... extensions) { return ((extension == extensions) || ...); };
  if (!is(".json", ".yaml", ".yml", ".csv", ".jsonl")) return check_model(path);
  const auto source = TRY(ByteSource::open(path, {}));
  if (is(".csv", ".jsonl")) return check_runs(source);
  const auto text = TRY(whole_text(source, {}));
  if (is(".json")) return check_json(path, source, text);
  const auto plan = read_sweep_plan(text, source.name(), {});
  return checked("a plan", plan, plan ? plan->notes : Diagnostics());
}

int run_check(const std::vector<std::string>& files, bool strict, bool quiet) {
  if (files.empty()) {
    return report(
        error("E108", "which files? name them", {}, "plimsoll check model.onnx plan.yaml runs.csv")
            .value());
  }
  int worst = 0;
  std::string text;
  for (const std::string& file : files) {
    const auto found = check_file(file);
    const int status = report(found ? as_strict(found->warnings, strict) : found.error());
    worst = std::max(worst, status);
    if (found && status == 0 && !quiet)
      text += escaped_format("{}: {}\n", shortened(file, 200), found->kind);
  }
  return print(text, worst);
}

}  // namespace

Verb make_check(const FlagSet& root) {
  struct Flags {
    std::vector<std::string> files;
    bool strict = false, quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  FlagSet app = root.add_subcommand(
      "check",
      "Checks files: models, configs, plans, measured runs, device, host and machine files. Exit "
      "status 3 if one is invalid. For pre-commit: .pre-commit-hooks.yaml.");
  app.add_option("files", flags->files, "files to check").group(kVerbGroup);
  app.add_flag("--strict", flags->strict, "warnings are errors").group(kVerbGroup);
  app.add_flag("--quiet", flags->quiet, "print only errors and warnings").group(kOutputGroup);
  return {app, [flags] { return run_check(flags->files, flags->strict, flags->quiet); }};
}

}  // namespace plimsoll::cli
