// A sweep as a page: how many configurations fit, and memory against throughput of all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/app/report/sweep.h"

namespace plimsoll {

// Configurations come one by one, by the million: of those that are beaten every second, fourth,
// ... is kept once they are many, which the page says.
class SweepPage {
 public:
  // `plan` outlives this. `time`: what was asked for.
  SweepPage(const SweepPlan& plan, bool time) : plan_(plan), time_(time) {}
  void add(const SweptConfiguration& configuration, const SweepPoint& point);
  // `best` has seen the same configurations; `model` and `command` are named.
  std::string to_html(const SweepSummary& summary, const SweepBest& best, const std::string& model,
                      const std::string& command) const;

 private:
  struct Shown {
    const SweepCandidate* candidate;
    bool unbeaten;
  };
  std::vector<Shown> shown(const SweepBest& best) const;
  std::string json(const SweepSummary& summary, const std::vector<Shown>& shown) const;
  void write_table(class Markup& out, const std::vector<Shown>& shown) const;

  const SweepPlan& plan_;
  bool time_;
  int64_t every_ = 1;  // of the configurations' numbers
  std::vector<SweepCandidate> kept_;
};

}  // namespace plimsoll
