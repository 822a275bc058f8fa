// kernel_run: kernels timed on a card one after the other, a record each (run_record.h), appended
// to a file that can be gone on with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/card.h"
#include "calibrate/run_record.h"

namespace plimsoll::calibrate {

struct PlannedKernel {
  KernelAt kernel;
  std::string skipped{};  // why it is not run
};

struct KernelRunPlan {
  std::vector<PlannedKernel> kernels;  // one twice is run once
  std::string device;                  // id of the card's
  TimingRules rules;
  bool figures = false;  // of the card, before its kernels
  std::string out;       // a file of JSON lines; empty: none
  bool resume = false;   // goes on with what is in it
};

struct KernelRun {
  std::vector<RunRecord> records;  // of the plan's kernels, in its order; those from the file too
  std::vector<Figure> figures;
  size_t known = 0;       // that the file had of this card
  size_t torn_bytes = 0;  // of a record that was cut off
  bool stopped = false;   // some of the plan's kernels are not run yet
};

struct KernelRunHooks {
  // After each record: how many of how many are done, and about how long the others take, s.
  std::function<void(size_t done, size_t all, double left)> progress = {};
  std::function<bool()> stop = {};  // asked before each kernel
};

// E726 where the file has records and is not to be gone on with; else as JsonLinesFile and
// read_run_line(). Nothing is written before the card has answered; what was written before an
// error stays.
Result<KernelRun> run_kernels(Card& card, const KernelRunPlan& plan,
                              const KernelRunHooks& hooks = {});

}  // namespace plimsoll::calibrate
