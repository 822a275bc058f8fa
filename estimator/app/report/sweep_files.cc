#include "estimator/app/report/sweep_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "estimator/app/report/human.h"
#include "estimator/app/report/table.h"
#include "estimator/app/sweep/filtered_plan.h"
#include "estimator/settings/json_texts.h"
#include "estimator/time/step_conditions.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// slurm.conf(5): MaxArraySize is 1001 unless set, one more than the highest index.
constexpr size_t kMostTasks = 1000;

// The least power of two, or one and a half of one, from 4 GiB on, that holds so many bytes; in
// GiB.
int64_t memory_class(int64_t bytes) {
  constexpr int64_t kGibibyte = int64_t{1} << 30, kLeast = 4;
  const int64_t gibibytes = std::max(kLeast, (bytes + kGibibyte - 1) / kGibibyte);
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(gibibytes)));
  return gibibytes <= power / 4 * 3 ? power / 4 * 3 : power;
}

// "--batch=64<tab>--gpu=l4".
Result<std::string> task_of(const SweepPlan& plan, const SweptConfiguration& run) {
  std::string line;
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    if (parameter.values.empty()) continue;
    const std::string word =
        fmt::format("--{}={}", parameter.name, text_of(parameter.values[run.values[i]]));
    if (std::ranges::any_of(word, [](unsigned char c) { return std::iscntrl(c) != 0; })) {
      return error(
          "E325",
          fmt::format("{}: a value in a Slurm job array cannot contain a tab or a line break",
                      shortened(parameter.name, 60)),
          parameter.place);
    }
    line += (line.empty() ? "" : "\t") + word;
  }
  return line;
}

struct SlurmArray {
  std::string name;  // "l4-24GiB"
  int64_t gpus = 1, gibibytes = 0, most_bytes = 0;
  std::optional<int64_t> longest_ns = 0;  // nothing: of one run it is not known
  std::string device_id;
  std::vector<std::string> tasks;
};

// Of the longest task, at the high end of its range, in whole minutes; empty where it is not known.
std::string walltime_of(const std::optional<int64_t>& longest_ns) {
  constexpr int64_t kMinuteNs = 60'000'000'000;
  if (!longest_ns || *longest_ns <= 0) return "";
  const int64_t minutes = (*longest_ns - 1) / kMinuteNs + 1;
  return fmt::format("#SBATCH --time={}:{:02}:00\n", minutes / 60, minutes % 60);
}

std::optional<int64_t> longest_run(const SweepPoint& point) {
  if (!point.run_ns || point.step_ns <= 0) return std::nullopt;
  const double above =
      static_cast<double>(point.step_range_ns.high) / static_cast<double>(point.step_ns);
  return to_ns(static_cast<double>(*point.run_ns) * 1e-9 * above);
}

// What clusters usually call a card in gres.conf(5), "Type": a100 of a100-sxm-80gb, t4 of tesla-t4,
// rtx4090 of rtx-4090.
std::string slurm_type(std::string_view device_id) {
  static constexpr std::array<std::string_view, 3> kMakes = {"tesla-", "quadro-", "grid-"};
  for (const std::string_view make : kMakes) {
    if (device_id.starts_with(make)) device_id.remove_prefix(make.size());
  }
  const bool numbered = device_id.starts_with("rtx-") || device_id.starts_with("gtx-");
  const std::string whole(device_id);
  const size_t first = whole.find('-');
  if (!numbered) return whole.substr(0, first);
  const size_t second = whole.find('-', first + 1);
  std::string type = whole.substr(0, first) + whole.substr(first + 1, second - first - 1);
  return whole.substr(std::min(second, whole.size())).starts_with("-ti") ? type + "ti" : type;
}

// Names the parameters that no task has, because the plan samples them; empty where there are none.
std::string sampled_text(const SweepPlan& plan) {
  std::string names;
  for (const SweepParameter& parameter : plan.parameters) {
    if (!parameter.values.empty()) continue;
    names += (names.empty() ? "" : ", ") + escaped(shortened(parameter.name, 60));
  }
  return names.empty() ? "" : "# Not set here, because the plan samples them: " + names + ".\n";
}

std::string script_of(const SlurmArray& array, const std::string& name,
                      const std::string& sampled) {
  const std::string type = slurm_type(array.device_id);
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# {} of a sweep by plimsoll, a task each: up to {} of {} {}.\n"
      "# Each task runs the command that follows this file's name, with its parameters as "
      "--name=value:\n"
      "#   sbatch {}.sbatch python train.py\n"
      "# 'sinfo -o %G' lists what this cluster calls its GPUs. If not {}: sbatch --gpus=NAME:{} "
      "...\n{}"
      "#SBATCH --job-name=plimsoll-{}\n"
      "#SBATCH --array=0-{}\n"
      "#SBATCH --gpus={}:{}\n{}"
      "set -euo pipefail\n"
      "[ $# -gt 0 ] || {{ echo \"which program? sbatch $0 PROGRAM...\" >&2; exit 2; }}\n"
      "mapfile -t runs << 'RUNS'\n",
      array.tasks.size() == 1 ? "A run" : fmt::format("{} runs", array.tasks.size()),
      human_bytes(array.most_bytes),
      array.gpus == 1 ? "one" : fmt::format("each of {}", array.gpus), array.device_id, name, type,
      array.gpus, sampled, name, array.tasks.size() - 1, type, array.gpus,
      walltime_of(array.longest_ns));
  for (const std::string& task : array.tasks) text += task + "\n";
  return text +
         "RUNS\n"
         "IFS=$'\\t' read -r -a parameters <<< \"${runs[SLURM_ARRAY_TASK_ID]}\"\n"
         "exec \"$@\" \"${parameters[@]}\"\n";
}

std::string tasks_text(size_t tasks) {
  return fmt::format("{} task{}", tasks, tasks == 1 ? "" : "s");
}

}  // namespace

Result<std::vector<SweepFile>> slurm_files(const SweepPlan& plan,
                                           std::span<const SweepCandidate> runs, int64_t gpus) {
  using Key = std::tuple<std::string, int64_t, int64_t>;  // device, GPUs, memory
  std::map<Key, SlurmArray> arrays;
  std::set<std::string> devices;
  std::set<int64_t> counts;
  for (const SweepCandidate& run : runs) {
    const JsonValue* asked = value_of(plan, run.configuration.values, "gpus");
    const int64_t count = asked ? asked->integer().value_or(gpus) : gpus;
    const int64_t class_of = memory_class(run.point.device_range_bytes.high);
    auto task = TRY(task_of(plan, run.configuration));
    SlurmArray& array = arrays[{run.point.device_id, count, class_of}];
    array.gpus = count;
    array.gibibytes = class_of;
    array.device_id = run.point.device_id;
    array.most_bytes = std::max(array.most_bytes, run.point.device_range_bytes.high);
    const auto longest = longest_run(run.point);
    array.longest_ns = longest && array.longest_ns
                           ? std::optional(std::max(*longest, *array.longest_ns))
                           : std::nullopt;
    array.tasks.push_back(std::move(task));
    devices.insert(run.point.device_id);
    counts.insert(count);
  }
  std::vector<SweepFile> files;
  for (auto& [key, array] : arrays) {
    array.name = devices.size() > 1 ? array.device_id + "-" : "";
    if (counts.size() > 1) array.name += fmt::format("{}x", array.gpus);
    array.name += fmt::format("{}GiB", array.gibibytes);
    std::vector<std::string> all = std::move(array.tasks);
    const size_t parts = (all.size() + kMostTasks - 1) / kMostTasks;
    for (size_t part = 0; part < parts; ++part) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(part * kMostTasks);
      const auto end =
          all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), (part + 1) * kMostTasks));
      array.tasks.assign(begin, end);
      const std::string name =
          "run-" + array.name + (parts == 1 ? "" : fmt::format("-{}", part + 1));
      files.push_back({name + ".sbatch", script_of(array, name, sampled_text(plan)),
                       tasks_text(array.tasks.size())});
    }
  }
  return files;
}

SweepFile csv_file(const SweepPlan& plan, std::span<const SweepCandidate> runs, bool time) {
  std::vector<Column> columns;
  for (const SweepParameter& parameter : plan.parameters) {
    if (!parameter.values.empty())
      columns.push_back({parameter.name, parameter.name, Column::kName});
  }
  columns.push_back({"device_id", "device_id", Column::kName});
  for (const char* name : {"device_bytes", "device_bytes_low", "device_bytes_high"})
    columns.push_back({name, name});
  if (time)
    columns.insert(columns.end(),
                   {{"step_ns", "step_ns"}, {"samples_per_second", "samples_per_second"}});
  Table table(std::move(columns));
  for (const SweepCandidate& run : runs) {
    std::vector<TableCell> cells;
    for (size_t i = 0; i < plan.parameters.size(); ++i) {
      const SweepParameter& parameter = plan.parameters[i];
      if (!parameter.values.empty())
        cells.push_back({text_of(parameter.values[run.configuration.values[i]])});
    }
    const SweepPoint& p = run.point;
    cells.push_back({p.device_id});
    for (const int64_t bytes :
         {p.device_bytes, p.device_range_bytes.low, p.device_range_bytes.high})
      cells.push_back({std::to_string(bytes)});
    if (time) {
      cells.push_back({std::to_string(p.step_ns)});
      cells.push_back({fmt::format("{}", p.samples_per_second)});
    }
    table.add(std::move(cells));
  }
  return {"fit.csv", table.csv(),
          fmt::format("{} row{}", runs.size(), runs.size() == 1 ? "" : "s")};
}

std::vector<SweepFile> plan_files(
    const SweepPlan& plan, std::span<const SweepCandidate> runs,
    const std::function<std::string(const std::string&)>& model_path) {
  std::vector<std::vector<size_t>> all;
  for (const SweepCandidate& run : runs) all.push_back(run.configuration.values);
  const std::vector<PlanGrid> grids = grids_of(std::move(all));
  std::vector<SweepFile> files;
  for (size_t i = 0; i < grids.size(); ++i) {
    size_t configurations = 1;
    for (size_t p = 0; p < plan.parameters.size(); ++p) {
      if (!plan.parameters[p].values.empty()) configurations *= grids[i][p].size();
    }
    files.push_back(
        {fmt::format("plan{}.{}", grids.size() == 1 ? "" : fmt::format("-{}", i + 1),
                     plan.yaml ? "yaml" : "json"),
         write_plan(plan, grids[i], model_path),
         fmt::format("{} configuration{}", configurations, configurations == 1 ? "" : "s")});
  }
  return files;
}

}  // namespace plimsoll
