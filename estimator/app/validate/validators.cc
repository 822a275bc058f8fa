#include "estimator/app/validate/validators.h"

#include <map>

#include "graph/base/work_in_order.h"

namespace plimsoll {
namespace {

using Lines = std::vector<ValidationLine>;

// Runs, by number, that one thread answers: of one model, which is compiled for them, or of
// kernels.
std::vector<std::vector<size_t>> units_of(std::span<const FiledRun> runs) {
  constexpr size_t kMost = 64;  // so that a model of many runs is not one thread's alone
  std::vector<std::vector<size_t>> units;
  std::map<std::string, size_t> open;  // by model
  for (size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i].run;
    const auto [at, added] =
        open.emplace(run.network.empty() ? run.model : run.network, units.size());
    if (added || units[at->second].size() >= kMost) {
      at->second = units.size();
      units.emplace_back();
    }
    units[at->second].push_back(i);
  }
  return units;
}

}  // namespace

// One of the idle validators, or a new one, for as long as a thread works.
class Validators::Borrowed {
 public:
  explicit Borrowed(Validators& lender) : lender_(lender) {
    const std::lock_guard lock(lender.mutex_);
    if (lender.idle_.empty()) return;
    validator_ = std::move(lender.idle_.back());
    lender.idle_.pop_back();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    const std::lock_guard lock(lender_.mutex_);
    lender_.idle_.push_back(std::move(validator_));
  }

  Validator& operator*() {
    if (!validator_) {
      validator_ = std::make_unique<Validator>(lender_.hwdb_, lender_.base_, lender_.calibrations_);
    }
    return *validator_;
  }

 private:
  Validators& lender_;
  std::unique_ptr<Validator> validator_;
};

Validators::Validators(const Hwdb& hwdb, Request base, Calibrations calibrations, size_t threads)
    : hwdb_(hwdb),
      base_(std::move(base)),
      calibrations_(std::move(calibrations)),
      threads_(threads) {}

void Validators::answer(std::span<const FiledRun> runs,
                        const std::function<void(const ValidationLine&)>& use,
                        const std::function<void(size_t done)>& progress) {
  const auto units = units_of(runs);
  std::vector<Lines> answers(runs.size());
  const auto make_worker = [&]() -> Worker<std::vector<Lines>> {
    return [&, validator = std::make_shared<Borrowed>(*this)](size_t unit) {
      std::vector<Lines> lines;
      for (const size_t i : units[unit])
        lines.push_back((**validator).answer(runs[i].run, runs[i].file));
      return lines;
    };
  };
  size_t unit = 0, done = 0, used = 0;
  work_in_order<std::vector<Lines>>(
      units.size(), threads_, make_worker, [&](std::vector<Lines> lines) {
        for (size_t i = 0; i < lines.size(); ++i) answers[units[unit][i]] = std::move(lines[i]);
        done += units[unit++].size();
        // Every run has a line at least.
        for (; used < runs.size() && !answers[used].empty(); ++used) {
          for (const ValidationLine& line : std::exchange(answers[used], {})) use(line);
        }
        if (progress) progress(done);
        return true;
      });
}

}  // namespace plimsoll
