// Validators: measured runs against predictions, many on several threads.
//
//   Validators validators(hwdb, base, calibrations, threads);
//   validators.answer(runs, [&](const ValidationLine& line) { ... }, [&](size_t done) { ... });
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "estimator/app/validate/validate.h"

namespace plimsoll {

struct FiledRun {
  MeasuredRun run;
  std::string file;  // the name that lines give
};

class Validators {
 public:
  // As a Validator takes them; each thread has one of its own, from one call to the next.
  Validators(const Hwdb& hwdb, Request base, Calibrations calibrations, size_t threads);

  // The lines of all runs, in the runs' order whatever the number of threads; on this thread, as is
  // `progress`, which hears how many are answered.
  void answer(std::span<const FiledRun> runs, const std::function<void(const ValidationLine&)>& use,
              const std::function<void(size_t done)>& progress = {});

 private:
  class Borrowed;

  const Hwdb& hwdb_;
  const Request base_;
  const Calibrations calibrations_;
  const size_t threads_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Validator>> idle_;
};

}  // namespace plimsoll
