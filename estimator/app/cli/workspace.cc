// workspace: convolutions as lines of JSON on standard input, their workspaces on standard output.
#include <fmt/format.h>
#include <iostream>
#include <tuple>

#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/local_gpu.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/explain/workspace_lines.h"
#include "estimator/memory/memory_plan.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {
namespace {

struct WorkspaceFlags {
  std::string gpu, cudnn, framework, precision, limit, hwdb;
  bool benchmark = false, json = false;
};

Result<WorkspaceLinesOptions> to_options(const WorkspaceFlags& flags, Hwdb& hwdb) {
  std::vector<std::string> gpus;
  if (!flags.gpu.empty()) gpus.push_back(flags.gpu);
  TRY(find_local_gpu(hwdb, gpus, "plimsoll workspace --gpu quadro-p4000"));
  const auto device = TRY(hwdb.device(gpus.front()));
  const auto framework = TRY(hwdb.framework(flags.framework));
  const auto version = flags.cudnn.empty() ? framework.cudnn : parse_version(flags.cudnn);
  if (!version) {
    return error("E103", fmt::format("--cudnn takes a version such as 7.6, found '{}'",
                                     shortened(flags.cudnn, 40)));
  }
  // Words of types alone: a scope of autocast has no problems of its own.
  std::vector<std::string> words;
  for (const PrecisionRow& row : precisions()) {
    if (!row.autocast) words.emplace_back(row.name);
  }
  TRY(parse_word("--precision", flags.precision, words));
  const PrecisionRow& precision = *find_precision(flags.precision);
  WorkspaceLinesOptions options{
      .capability = capability_of(device),
      .cudnn_major = version->numbers.empty() ? 0 : version->numbers[0],
      .cudnn_minor = version->numbers.size() > 1 ? version->numbers[1] : 0,
      .dtype = precision.storage,
      .policy = library_behaviour(framework, {}, precision.tf32).policy};
  if (flags.benchmark) options.policy.benchmark = true;
  if (!flags.limit.empty()) {
    const auto limit = TRY(parse_bytes("--workspace-limit", flags.limit));
    options.policy.limit = limit;
  }
  return options;
}

// With the defaults of one's own, then those built in.
Result<WorkspaceFlags> completed(WorkspaceFlags flags) {
  const auto defaults = TRY(with_defaults({}));
  const SharedFlags& found = defaults.flags;
  if (const std::string* gpu = found.value("gpu"); gpu && flags.gpu.empty()) flags.gpu = *gpu;
  const std::tuple<const char*, std::string WorkspaceFlags::*, const char*> kRows[] = {
      {"cudnn", &WorkspaceFlags::cudnn, ""},
      {"framework", &WorkspaceFlags::framework, "pytorch"},
      {"precision", &WorkspaceFlags::precision, "fp32"},
      {"workspace-limit", &WorkspaceFlags::limit, ""},
      {"hwdb", &WorkspaceFlags::hwdb, ""}};
  for (const auto& [name, member, built_in] : kRows) {
    if (!(flags.*member).empty()) continue;
    const std::string* const value = value_of(found, name);
    flags.*member = value ? *value : built_in;
  }
  return flags;
}

int run_workspace(const WorkspaceFlags& given) {
  const auto all = completed(given);
  if (!all) return report(all.error());
  const WorkspaceFlags& flags = *all;
  auto hwdb = Hwdb::open(flags.hwdb);
  if (!hwdb) return report(hwdb.error());
  auto options = to_options(flags, *hwdb);
  if (!options) return report(options.error());
  WorkspaceLines lines(*hwdb, std::move(*options));
  std::string line;
  int number = 0;
  while (std::getline(std::cin, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto answer = lines.answer(line, number);
    if (!answer) return report(answer.error());
    if (const int status = print(*answer + "\n"); status != 0) return status;
  }
  return 0;
}

}  // namespace

Verb make_workspace(const FlagSet& root) {
  auto flags = std::make_shared<WorkspaceFlags>();
  FlagSet app = root.add_subcommand("workspace",
                                    "Reads convolutions as JSON lines and writes for each the "
                                    "algorithm and the workspace that cuDNN chooses.");
  app.add_option("--gpu", flags->gpu, "id from 'plimsoll gpus'").type_name("ID");
  app.add_option("--cudnn", flags->cudnn, "cuDNN version [the framework's]").type_name("VERSION");
  app.add_option("--framework", flags->framework,
                 "framework whose rule chooses the algorithm (a name of 'plimsoll frameworks'), or "
                 "ideal: the plan that cuDNN ranks first")
      .type_name("NAME");
  app.add_option("--precision", flags->precision,
                 "precision of convolutions whose line gives no dtype [fp32]")
      .type_name("NAME");
  app.add_option("--workspace-limit", flags->limit, "largest workspace allowed, e.g. 64MiB")
      .type_name("SIZE");
  app.add_flag("--cudnn-benchmark", flags->benchmark,
               "cuDNN benchmarks its plans and takes the fastest");
  app.add_option("--hwdb", flags->hwdb,
                 "folder with files of GPUs, links and hosts; a file replaces the built-in file "
                 "with the same name")
      .type_name("FOLDER");
  app.add_flag("--json", flags->json, "print JSON lines, the only format of this command");
  return {app, [flags] { return run_workspace(*flags); }};
}

}  // namespace plimsoll::cli
