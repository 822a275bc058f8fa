// run_report: what was predicted of kernels beside what a card took for them: kernel by kernel, in
// sums, by phase of a step and by class.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/card.h"
#include "calibrate/run_record.h"
#include "estimator/app/explain/predicted_kernels.h"
#include "estimator/app/html/validation_page.h"
#include "estimator/app/validate/tolerance.h"

namespace plimsoll::calibrate {

struct ReportRow {
  PredictedKernel predicted;
  RunRecord record;

  // The way that the framework takes; null where there is no time.
  const TimedOffer* taken() const {
    const auto& timing = record.timing;
    return timing.taken ? &timing.offers[*timing.taken] : nullptr;
  }
};

// Of kernels that have both times, seconds.
struct ReportSum {
  std::string name;
  int64_t kernels = 0, launches = 0;  // distinct, and of a step
  double predicted = 0, measured = 0;
};

struct RunReport {
  std::string device, model;
  int64_t batch = 0;
  CardFacts facts;
  std::vector<ReportRow> rows;  // by predicted share of the step
  std::vector<Figure> figures;
  std::vector<ReportSum> sums;             // "compared", then phases of a step, then its classes
  std::vector<ValidationSummary> summary;  // of times by class (`op`), then of workspaces
  Gate gate;
  ValidationPage page;               // of every kernel and figure
  std::vector<std::string> outside;  // those that a tolerance leaves out, a sentence each
  size_t without_time = 0;
  bool stopped = false;
};

// `records` of some of the kernels; rows are of those alone.
RunReport report_of(const std::vector<PredictedKernel>& kernels, std::vector<RunRecord> records,
                    const Tolerances& tolerances);

std::string text_of(const RunReport& report);
std::string json_of(const RunReport& report);
void describe(Fields& f, RunReport& report);
// For estimator/schemas: this program describes it, `plimsoll schema run` prints it.
std::string run_schema();

}  // namespace plimsoll::calibrate
