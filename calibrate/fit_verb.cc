// fit: from the transcriptions of measured kernels to calibration files.
#include <fmt/format.h>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "calibrate/fit.h"
#include "calibrate/fit_machine.h"
#include "calibrate/verb.h"
#include "estimator/kernels/fit_class.h"
#include "graph/base/byte_source.h"
#include "graph/base/hash.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/coefficients.h"
#include "hwdb/hwdb.h"

namespace plimsoll::calibrate {
namespace {

struct FitCommand {
  std::string measured, out;
  std::vector<std::string> only;
  MachineCommand machine;
};

struct Measurements {
  std::map<std::string, std::vector<MeasuredKernel>, std::less<>> kernels;  // by class
  std::map<std::string, MeasuredFile, std::less<>> files;
};

std::string citations(std::string_view text) {
  std::string all;
  while (text.starts_with('#')) {
    const std::string_view line = take_part(text, '\n');
    all.append(all.empty() ? "" : " | ").append(line.substr(std::min<size_t>(2, line.size())));
  }
  return all;
}

Result<Measurements> read_measurements(const std::string& folder) {
  Measurements all;
  for (const FitClassRow& row : fit_classes()) {
    const std::string kernel_class(row.measured);
    if (all.kernels.contains(kernel_class)) continue;
    const std::string name = kernel_class + ".csv";
    const auto text = TRY(read_text(folder + "/" + name));
    auto kernels = TRY(read_measured(text, name, kernel_class));
    all.kernels[kernel_class] = std::move(kernels);
    all.files[kernel_class] = {name, sha256_hex(std::as_bytes(std::span(text))), citations(text)};
  }
  return all;
}

Result<std::map<std::string, DeviceRates>> read_rates() {
  const auto hwdb = TRY(Hwdb::open());
  std::map<std::string, DeviceRates> rates;
  for (const FitPlan& plan : fit_plans()) {
    for (const FitCard& card : plan.cards) {
      const auto device = TRY(hwdb.device(card.device));
      rates[std::string(card.device)] = rates_of(device);
    }
  }
  return rates;
}

// As many for each of a warp's lanes: peaks and clocks are printed rounded.
double flop_per_sm_clock(const DeviceRates& rates, Arithmetic arithmetic) {
  constexpr double kLanes = 32;
  return std::round(rates.peak_of(arithmetic) / (rates.sms * rates.clock) / kLanes) * kLanes;
}

void print(const FitPlan& plan, const FitReport& report) {
  for (const auto& [pass, s] : report.passes) {
    fmt::print(
        "{:22} {:20} {:5} kernels  roofline {:5.1f} %  left out {:5.1f} %  median {:5.1f} %\n",
        plan.name, pass, s.kernels, 100 * s.roofline, 100 * s.error, 100 * s.median);
  }
  fmt::print("{:22} {} coefficients of {} kernels, 90 % range covers {:.0f} %", plan.name,
             coefficients(report.fit), report.fit.measured, 100 * report.coverage);
  if (report.named > 0) fmt::print(", algorithm {} of {}", report.agreed, report.named);
  fmt::print("\n");
  std::fflush(stdout);
}

int run_fit(const FitCommand& command) {
  if (command.measured.empty() == command.machine.records.empty()) {
    return report(error("E108", "which records? name files of measured kernels, or --measured", {},
                        "plimsoll-calibrate fit kernels.json --out machine.json")
                      .value());
  }
  if (command.measured.empty()) {
    MachineCommand machine = command.machine;
    machine.out = command.out;
    return fit_machine(machine);
  }
  const auto measured = read_measurements(command.measured);
  if (!measured) return report(measured.error());
  const auto rates = read_rates();
  if (!rates) return report(rates.error());
  std::map<std::string_view, Fit> fits;
  std::map<int, Calibration> calibrations;
  std::map<int, std::set<std::string>> used;
  for (const FitPlan& plan : fit_plans()) {
    const auto wanted = [&](const std::string& word) { return plan.name.starts_with(word); };
    if (!command.only.empty() && std::ranges::none_of(command.only, wanted)) continue;
    const std::string file_class(fit_class(plan.kernel_class).measured);
    const auto fitted = fit_kernels(plan, measured->kernels.at(file_class), *rates, fits);
    if (!fitted) return report(fitted.error());
    print(plan, *fitted);
    fits[plan.name] = fitted->fit;
    for (const int capability : plan.capabilities) {
      Calibration& calibration = calibrations[capability];
      calibration.id = fmt::format("sm_{}", capability);
      for (const FitCard& card : plan.cards) {
        const DeviceRates& its = rates->at(std::string(card.device));
        const auto arithmetic = arithmetic_from_name(plan.arithmetic);
        if (its.compute_capability == capability && arithmetic)
          calibration.flop_per_sm_clock[std::string(plan.arithmetic)] =
              flop_per_sm_clock(its, *arithmetic);
      }
      calibration.fits.push_back(fitted->fit);
      calibration.fits.back().compute_capability = capability;
      if (used[capability].insert(file_class).second) {
        calibration.files.push_back(measured->files.at(file_class));
      }
    }
  }
  if (command.out.empty()) return 0;
  std::error_code ignored;
  std::filesystem::create_directories(command.out, ignored);
  for (const auto& [capability, calibration] : calibrations) {
    const std::string path = command.out + "/" + calibration.id + ".json";
    const int status = write_file(path, write_calibration(calibration));
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace

Verb make_fit(const cli::FlagSet& root) {
  auto command = std::make_shared<FitCommand>();
  cli::FlagSet app = root.add_subcommand("fit",
                                         "  plimsoll-calibrate fit kernels.json --out "
                                         "machine.json\n\nMakes a machine file from measured "
                                         "kernels of one GPU, for plimsoll --machine FILE.");
  app.add_option("records", command->machine.records, "measured runs; their kernels are used");
  app.add_option("--gpu", command->machine.gpu, "GPU whose records are used, if there are several")
      .type_name("ID");
  app.add_option("--hwdb", command->machine.hwdb,
                 "folder with files of GPUs, links and hosts; a file replaces the built-in file "
                 "with the same name")
      .type_name("FOLDER");
  app.add_option("--out", command->out,
                 "the machine file, or the folder for sm_NN.json; without it only the report")
      .type_name("FILE");
  app.add_option("--measured", command->measured,
                 "instead of records: folder with gemm.csv, conv.csv, ... for the calibrations "
                 "that the database ships")
      .type_name("FOLDER");
  app.add_option("--only", command->only,
                 "plans whose names begin with this (then --out is incomplete)")
      .type_name("NAME");
  return {app, [command] { return run_fit(*command); }};
}

}  // namespace plimsoll::calibrate
