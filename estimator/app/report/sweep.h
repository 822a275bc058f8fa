// What a sweep comes to: how many fit, and the best of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/sweep_gpus.h"
#include "estimator/app/report/sweep_grid.h"
#include "estimator/app/report/sweep_record.h"
#include "estimator/app/report/table.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct SweepCandidate {
  SweptConfiguration configuration;
  SweepPoint point;
};

// What a sweep was asked for, beside the settings of all its configurations.
struct SweepQuestion {
  std::string plan;                                             // its file
  std::vector<std::pair<std::string, JsonValue>> parameters{};  // with their values
  std::string method = "grid";                                  // or random
  std::optional<int64_t> run_cap{};
  int64_t seed = 0;
  std::string shard;  // "2/8"; empty: the whole
  bool memory_only = false;
};

struct SweepSummary {
  int64_t configurations = 0, failed = 0;
  int64_t fit = 0;                      // points
  std::array<int64_t, 3> by_verdict{};  // of their ranges
  uint64_t checksum = 0;                // of all verdicts, peaks and times, in order
  double seconds = 0;                   // of the sweep
  std::optional<Objective> objective{};
  std::optional<SweepCandidate> best{};  // by the objective, of those that fit; the first of equals
  std::vector<SweepGpu> by_gpu{};
  SweepQuestion question{};
  AnswerNotes notes{};
};

void add(const SweptConfiguration& configuration, const SweepPoint& point, SweepSummary& summary);

// "4 batch x 3 gpu".
std::string axes_text(const SweepPlan& plan);

void describe(Fields& f, SweepSummary& summary);
void describe_verb_settings(Fields& f, SweepSummary& summary);
// What a page holds.
struct SweepPageDocument {
  struct Record {
    SweepRecord record;
    bool is_pareto = false;
    bool is_pareto_of_gpu = false;
    std::optional<double> price_of_million{};
  };
  bool time = true;
  std::vector<Record> records{};
  std::vector<SweepGrid> grids{};
  SweepSummary summary{};
};
void describe(Fields& f, SweepPageDocument& page);
// The line that has it, with its newline.
std::string to_json_line(const SweepSummary& summary);

// The configurations that fit and that no other beats in both peak memory and samples per second;
// where none fits, the one nearest to it.
class SweepBest {
 public:
  void add(const SweptConfiguration& configuration, const SweepPoint& point);
  const std::vector<SweepCandidate>& pareto_front() const { return best_; }
  std::string to_text(const SweepPlan& plan, bool time, const Page& page = {}) const;
  // At most `most` of them, the fastest first, or without times the smallest.
  Table table(const SweepPlan& plan, bool time, size_t most) const;

 private:
  std::vector<SweepCandidate> best_;
  std::optional<SweepCandidate> nearest_, failed_;
};

std::string to_text(const SweepSummary& summary);
// "Best by step_ns: batch 8, gpu t4: 12.3 ms"; empty without an objective, or where nothing fits.
std::string best_text(const SweepPlan& plan, const SweepSummary& summary);

// Points that take less memory than the one before them along the batch, all else being equal.
// Tensors never shrink as the batch grows, but allocators take segments, and of several sizes.
class SweepDips {
 public:
  explicit SweepDips(std::vector<SizeAxis> sizes);
  void add(const SweepPoint& point);
  // N121 with how many there are and one of them; nothing where there is none.
  Diagnostics told() const;

 private:
  struct Before {
    int64_t batch = 0, bytes = 0;  // batch 0: nothing yet
  };
  std::vector<SizeAxis> sizes_;
  std::optional<size_t> batch_;  // its axis
  // By the place on the other axes, of the variants that are worked on.
  std::map<size_t, std::vector<Before>> before_;
  int64_t count_ = 0, batch_at_first_ = 0;
};

}  // namespace plimsoll
