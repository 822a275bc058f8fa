#include "estimator/app/cli/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/model_name.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/report/sweep_files.h"
#include "estimator/settings/values.h"
#include "graph/base/among.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

constexpr std::array<std::string_view, 3> kForms = {"slurm", "csv", "plan"};

}  // namespace

void add_emit(const FlagSet& app, EmitFlags& flags) {
  app.add_option("--emit", flags.forms, "write what fits to --emit-to: slurm, csv or plan")
      .allow_extra_args(false)
      .type_name("FORM")
      .group(kOutputGroup);
  app.add_option("--emit-to", flags.directory, "folder for the files of --emit")
      .type_name("DIR")
      .group(rarely(kOutputGroup));
}

Result<void> check_emit(const EmitFlags& flags) {
  for (const std::string& form : flags.forms) {
    if (among(form, kForms)) continue;
    return error("E106", fmt::format("--emit knows no '{}'", shortened(form)), {},
                 "slurm, csv or plan");
  }
  if (flags.forms.empty() == flags.directory.empty()) return {};
  return error("E114", "--emit and --emit-to go together: what to write, and where", {},
               "--emit slurm --emit-to jobs");
}

Result<void> Emitter::open() const {
  std::error_code fault;
  std::filesystem::create_directories(flags_.directory, fault);
  if (!fault) return {};
  return error("E612", "cannot be made: " + fault.message(),
               {.file = flags_.directory, .node = {}});
}

void Emitter::add(const SweptConfiguration& configuration, const SweepPoint& point) {
  if (!point.failure && point.verdict == Verdict::kFits) fit_.push_back({configuration, point});
}

// A model's path as seen from the folder that is written to.
std::string Emitter::moved(const std::string& model) const {
  const std::filesystem::path path = model_beside(from_, model);
  if (path.is_absolute() || model.starts_with("builtin:")) return model;
  std::error_code fault;
  const auto seen = std::filesystem::relative(path, flags_.directory, fault);
  return fault || seen.empty() ? model : seen.generic_string();
}

Result<std::string> Emitter::write(bool time) const {
  std::vector<SweepFile> files;
  for (const std::string_view form : kForms) {
    if (std::ranges::find(flags_.forms, form) == flags_.forms.end() || fit_.empty()) continue;
    if (form == "csv") {
      files.push_back(csv_file(plan_, fit_, time));
      continue;
    }
    auto more = TRY(form == "slurm"
                        ? slurm_files(plan_, fit_, gpus_)
                        : plan_files(plan_, fit_, [&](const std::string& m) { return moved(m); }));
    std::ranges::move(more, std::back_inserter(files));
  }
  std::string told = files.empty() ? "nothing fits: no file is written\n" : "";
  for (const SweepFile& file : files) {
    const std::string path = (std::filesystem::path(flags_.directory) / file.name).string();
    TRY(distinct_files({{"emit-to", path}}, others_));
    auto out = TRY(OutputFile::open(path, force_));
    TRY(out.write(file.text));
    told += escaped_format("wrote {}: {}\n", shortened(path, 200), file.holds);
  }
  return told;
}

}  // namespace plimsoll::cli
