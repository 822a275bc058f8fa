#include <memory>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/report/version.h"
#include "estimator/app/validate/shared_run.h"
#include "graph/base/distinct_files.h"
#include "graph/base/setting.h"
#include "hwdb/measured/reader.h"

namespace plimsoll::cli {
namespace {

struct ShareFlags {
  std::vector<std::string> files;
  std::string out;
  bool force = false;
};

int run_share(const ShareFlags& flags) {
  if (flags.files.empty())
    return report(error("E108", "which measured runs? name their files", {},
                        "plimsoll share run.json --out shared.json")
                      .value());
  std::vector<NamedFile> read;
  for (const std::string& name : flags.files) read.push_back({{}, name});
  if (auto distinct = distinct_files({{"out", flags.out}}, read); !distinct)
    return report(distinct.error());
  std::optional<OutputFile> file;
  if (auto opened = OutputFile::open_if_named(flags.out, flags.force, file); !opened)
    return report(opened.error());
  std::vector<MeasuredRun> runs;
  for (const std::string& name : flags.files) {
    const auto source = ByteSource::open(name, {});
    if (!source) return report(source.error());
    const auto good =
        read_measured(*source, [&](MeasuredRun&& run) { runs.push_back(std::move(run)); });
    if (!good) return report(good.error());
  }
  const auto shared = to_shared(runs, kVersion);
  if (!shared) return report(shared.error());
  if (!file) return print(*shared);
  const auto written = file->write(*shared);
  return written ? 0 : report(written.error());
}

}  // namespace

Verb make_share(const FlagSet& root) {
  auto flags = std::make_shared<ShareFlags>();
  FlagSet app = root.add_subcommand(
      "share",
      "Writes measured runs as a file for the project's collection: GPU, versions, settings and "
      "figures, without names of people, machines or files.");
  app.add_option("files", flags->files, "measured runs, as validate reads them").group(kVerbGroup);
  app.add_option("--out", flags->out, "a file; else standard output")
      .type_name("FILE")
      .group(kOutputGroup);
  app.add_flag("--force", flags->force, "overwrite files that are there").group(kOutputGroup);
  return {app, [flags] { return run_share(*flags); }};
}

}  // namespace plimsoll::cli
