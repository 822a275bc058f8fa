// What a sweep was asked for, and what is written of its answers as they come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/app/cli/emit.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/progress.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/sweep_axes.h"
#include "estimator/app/cli/sweep_log.h"
#include "estimator/app/cli/work_flags.h"
#include "estimator/app/html/sweep_page.h"
#include "estimator/app/report/sweep.h"

namespace plimsoll::cli {

struct SweepFlags {
  SharedFlags shared;
  PageFlags page;
  EmitFlags emit;
  std::string plan, out, resume;
  WorkFlags work;
  std::string shard;
  std::string seed;  // empty: the plan's
  std::vector<std::string> prices;
  OutputFlags output;
  bool count_only = false, memory_only = false, dry_run = false;
};

// What is asked of a sweep.
struct SweepJob {
  const SweepFlags& flags;
  const SweepPlan& plan;
  const SweepAxes& axes;
  const Hwdb& hwdb;
  int64_t configurations;
  const Request& request;  // of flags and defaults, without the plan's parameters
  std::optional<std::vector<int64_t>> chosen;  // of them, rising; else all
  std::map<std::string, double> prices{};      // of an hour, by the device's id
  std::optional<SweepLog> log{};
  std::optional<OutputFile> page{};
  std::optional<Emitter> emitter{};

  // Empty where there are several.
  std::string model() const {
    const bool several =
        std::ranges::find(plan.parameters, "model", &SweepParameter::name) != plan.parameters.end();
    return several ? "" : flags.shared.model;
  }
  int64_t asked() const { return chosen ? std::ssize(*chosen) : configurations; }
  bool is_asked(const SweptConfiguration& configuration) const {
    return !chosen || std::ranges::binary_search(*chosen, configuration.number);
  }
};

// Text on its way out, in pieces as pipes take them.
class OutputPieces {
 public:
  bool add(const std::string& text);
  bool flush();
  bool good() const { return good_; }

 private:
  std::string text_;
  bool good_ = true;
};

// Takes the answers to all points, in order.
class SweepAnswer {
 public:
  // `job` outlives this.
  explicit SweepAnswer(SweepJob& job);

  // Whether to go on.
  bool add(SweepPoint point);
  const std::optional<Diagnostics>& fault() const { return fault_; }
  // What stands there already.
  void flush();
  // Everything that is written at the end; the exit status.
  // `warnings`: of the plan, the models and the cards.
  int finish(double seconds, Diagnostics warnings);

 private:
  void add_summary(const std::string& emitted);

  SweepJob& job_;
  bool lines_, listed_, time_;
  OutputPieces out_;
  SweepSummary summary_;
  SweepBest best_;
  SweepGpus gpus_;
  SweepPage page_;
  SweepDips dips_;
  Progress progress_;
  std::optional<Diagnostics> fault_;
};

}  // namespace plimsoll::cli
