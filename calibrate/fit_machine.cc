#include "calibrate/fit_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "calibrate/factors.h"
#include "calibrate/machine_facts.h"
#include "calibrate/verb.h"
#include "estimator/app/validate/validate.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "hwdb/measured/source.h"

namespace plimsoll::calibrate {
namespace {

struct Kernels {
  std::vector<MeasuredRatio> ratios;
  std::set<std::string> gpus;  // of kernels in the records
  size_t others = 0;           // records that are no kernels, or that nothing predicts
  MachineFacts facts{};
};

// The pass of products and of what only moves data changes their work, not how they run.
bool differs_by_pass(std::string_view kernel_class) {
  return kernel_class != "gemm" && kernel_class != "rows";
}

// Of `run`: cuDNN's kernel where frameworks have one of their own, which it is no measure of.
bool stands_in(const MeasuredRun& run) {
  return run.function == "layer_norm" || run.function == "rms_norm" ||
         (run.op == "attention" && run.form != name(AttentionForm::kLibrary)) ||
         (!run.function.empty() && (run.op == "pool" || run.op == "softmax"));
}

void add(const ValidationLine& line, Kernels& kernels) {
  if (!line.priced_as || !line.measured || !line.predicted || *line.measured <= 0 ||
      *line.predicted <= 0) {
    ++kernels.others;
    return;
  }
  kernels.gpus.insert(line.device);
  const PricedAs& as = *line.priced_as;
  kernels.ratios.push_back({.kernel_class = std::string(as.kernel_class),
                            .arithmetic = std::string(name(as.arithmetic)),
                            .pass = differs_by_pass(as.kernel_class) ? line.pass : "",
                            .ln = std::log(*line.measured / *line.predicted),
                            .predicted = *line.predicted,
                            .range90 = as.range90});
}

Result<Kernels> read_kernels(const MachineCommand& command) {
  const auto hwdb = TRY(Hwdb::open(command.hwdb));
  const auto sources = TRY(MeasuredSources::open(hwdb, false));
  auto calibrations = TRY(Calibrations::open(hwdb));
  std::string wanted;
  if (!command.gpu.empty()) {
    const auto device = TRY(hwdb.device(command.gpu));
    wanted = device.id;
  }
  Validator validator(hwdb, Request{}, std::move(calibrations));
  Kernels kernels;
  Result<void> facts;
  for (const std::string& file : command.records) {
    TRY(read_runs(file, sources, [&](MeasuredRun&& run) {
      const auto device = hwdb.device(run.device);
      if (facts && (wanted.empty() || (device && device->id == wanted)))
        facts = kernels.facts.add(run);
      if (stands_in(run)) return static_cast<void>(++kernels.others);
      for (ValidationLine& line : validator.answer(run, file)) {
        if (device) line.device = device->id;
        if (wanted.empty() || line.device == wanted) add(line, kernels);
      }
    }));
    if (!facts) return tl::make_unexpected(facts.error());
  }
  if (kernels.ratios.empty()) {
    return error("E716", fmt::format("none of the {} records is a kernel that can be predicted",
                                     kernels.others));
  }
  if (kernels.gpus.size() > 1) {
    return error("E717", fmt::format("the records are of {}", fmt::join(kernels.gpus, ", ")), {},
                 "--gpu ID takes one of them");
  }
  return kernels;
}

}  // namespace

int fit_machine(const MachineCommand& command) {
  const auto kernels = read_kernels(command);
  if (!kernels) return report(kernels.error());
  Machine machine{.gpu = *kernels->gpus.begin(),
                  .source = fmt::format("plimsoll-calibrate fit, {} kernels of {}",
                                        kernels->ratios.size(), fmt::join(command.records, ", ")),
                  .factors = {}};
  fmt::print("{:12} {:14} {:17} {:>7}  {:>6}  left out {:>14}\n", "class", "arithmetic", "pass",
             "kernels", "times", "before, after");
  for (const FactorFit& fit : fit_factors(kernels->ratios)) {
    const MachineFactor& f = fit.factor;
    fmt::print("{:12} {:14} {:17} {:7}", f.kernel_class, f.arithmetic, f.pass, f.kernels);
    if (f.error_before > 0) {
      fmt::print("  {:6.3f}  {:8.1f} % {:10.1f} %", f.factor, 100 * f.error_before,
                 100 * f.error_after);
    }
    fmt::print("{}\n", fit.refused.empty() ? "" : "  refused: " + fit.refused);
    if (fit.refused.empty()) machine.factors.push_back(f);
  }
  kernels->facts.complete(machine, machine.gpu);
  if (machine.clock > 0) fmt::print("clock while computing {:.0f} MHz\n", machine.clock / 1e6);
  if (!machine.workspaces.empty())
    fmt::print("cuDNN's plans of {} convolutions\n", machine.workspaces.size());
  if (machine.context_bytes > 0) {
    fmt::print("a CUDA context needs {} MiB of GPU memory\n", machine.context_bytes >> 20);
  }
  if (!machine.host.empty()) fmt::print("copies from and to the host, launches, cores\n");
  if (kernels->others > 0) fmt::print("{} records are not kernels of this GPU\n", kernels->others);
  return command.out.empty() ? 0 : write_file(command.out, write_machine(machine));
}

}  // namespace plimsoll::calibrate
