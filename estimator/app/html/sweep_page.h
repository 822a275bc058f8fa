// A sweep as a page: how many configurations fit, by any two parameters too, the best of them, and
// memory against throughput of all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/report/sweep.h"
#include "estimator/app/report/sweep_grid.h"

namespace plimsoll {

// Configurations come one by one, by the million: of those that are beaten every second, fourth,
// ... is kept once they are many, which the page says.
class SweepPage {
 public:
  // Of an hour of all GPUs that a configuration takes; nothing where it is not known.
  using Price = std::function<std::optional<double>(const SweepCandidate&)>;
  // `plan` outlives this. `time`: what was asked for.
  SweepPage(const SweepPlan& plan, bool time, Price price = {})
      : plan_(plan), time_(time), price_(std::move(price)), grids_(plan) {}
  void add(const SweptConfiguration& configuration, const SweepPoint& point);
  // `best` has seen the same configurations; `model` and `command` are named.
  std::string to_html(const SweepSummary& summary, const SweepBest& best, const std::string& model,
                      const std::string& command) const;

 private:
  struct Shown {
    const SweepCandidate* candidate;
    bool is_pareto = false, is_pareto_of_gpu = false;
    std::optional<double> price_of_million{};
  };
  using Key = std::pair<std::string, std::string>;  // a model, where they differ, and a device's id
  Key key_of(const SweepCandidate& candidate) const;
  Shown shown(const SweepCandidate& candidate) const;
  std::vector<Shown> shown(const SweepBest& best) const;
  std::string json(const SweepSummary& summary, const std::vector<Shown>& shown) const;
  void write_table(class Markup& out, std::string_view caption, const std::vector<Shown>& shown,
                   bool filtered) const;
  void write_best(class Markup& out, const std::vector<Shown>& shown) const;
  void write_configurations(class Markup& out, const std::vector<Shown>& all,
                            int64_t left_out) const;

  const SweepPlan& plan_;
  bool time_;
  Price price_;
  int64_t every_ = 1;  // of the configurations' numbers
  std::vector<SweepCandidate> kept_;
  SweepGrids grids_;
  std::map<Key, SweepBest> fronts_;  // of each model on each GPU
};

}  // namespace plimsoll
