// PlanAdvice: the best plans of a cluster as they are answered, and what is said of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/memory/verdict.h"
#include "estimator/time/step_lanes.h"
#include "graph/json/fields.h"

namespace plimsoll {

// A plan as estimate() answers it.
struct PricedPlan {
  std::string settings{};
  std::map<std::string, int64_t> axes{};
  Verdict verdict = Verdict::kDoesNotFit;
  int64_t device_bytes = 0, persistent_bytes = 0;
  Range device_range{};
  int64_t step_ns = 0, communication_ns = 0, bubble_ns = 0;
  double samples_per_second = 0;
  std::optional<double> tokens_per_second{}, mfu{}, hfu{};
  std::optional<int64_t> run_ns{};
  std::optional<double> run_price{};
};

inline void describe(Fields& f, PricedPlan& p) {
  f("flags", p.settings, {.settings = true});
  f("axes", p.axes, {.meaning = "ranks along each axis of more than one", .low = 2});
  f("verdict", p.verdict);
  f("device_bytes", p.device_bytes, "of the rank that needs most");
  f("device_range_bytes", p.device_range);
  f("persistent_bytes", p.persistent_bytes, "what stays between steps");
  f("step_ns", p.step_ns, "of an update, with all its micro-batches");
  f("communication_ns", p.communication_ns, "of it waiting for exchanges");
  f("bubble_ns", p.bubble_ns, "of it waiting for other stages");
  f("samples_per_second", p.samples_per_second, {.meaning = "of all GPUs", .low = 0});
  f("tokens_per_second", p.tokens_per_second,
    {.meaning = "of all GPUs; null where the model counts no tokens", .low = 0});
  f("mfu", p.mfu, {.meaning = "null where the card's peak is not known", .low = 0});
  f("hfu", p.hfu, {.meaning = "as mfu, with what is computed again", .low = 0});
  f("run_ns", p.run_ns,
    {.meaning = "of as many tokens as were given, or of the epochs, or of one",
     .absent_where = !p.run_ns});
  f("run_price", p.run_price,
    {.meaning = "of the run, at the price of an hour of a GPU",
     .absent_where = !p.run_price,
     .low = 0});
}

// What ranks along an axis tell each other, and over what.
struct Crossing {
  std::string axis{};
  int64_t ranks = 1, per_node = 1;
  std::string link{}, network{};  // empty: not crossed
  std::string what{};             // "the sums of each block's parts"
};

inline void describe(Fields& f, Crossing& c) {
  f("axis", c.axis);
  f("ranks", c.ranks, {.low = 2});
  f("per_node", c.per_node, {.meaning = "ranks of a group in one machine", .low = 1});
  f("link", c.link, {.meaning = "within a machine", .null_where = c.link.empty()});
  f("network", c.network, {.meaning = "between machines", .null_where = c.network.empty()});
  f("what", c.what);
}

struct PlanCounts {
  int64_t considered = 0;
  int64_t refused = 0;        // the model cannot be split so
  int64_t kept_too_much = 0;  // weights, gradients and states alone are more than there is
  int64_t compared = 0;       // by the figures of their blocks
  int64_t too_large = 0;      // ... which are more than the card has
  int64_t estimated = 0;
};

inline void describe(Fields& f, PlanCounts& c) {
  f("considered", c.considered);
  f("refused", c.refused, "the model cannot be split so");
  f("kept_too_much", c.kept_too_much,
    "weights, gradients and optimizer states together are more than the card has");
  f("compared", c.compared, "by the time and memory of single blocks");
  f("too_large", c.too_large, "of those compared, whose blocks need more than the card has");
  f("estimated", c.estimated, "as `plimsoll estimate` does, the most promising");
}

// What is short where no plan fits, and what would do.
struct NearestFit {
  PricedPlan plan{};  // that needs least
  int64_t missing_bytes = 0;
  int64_t gpus = 0, nodes = 0;  // on which a plan fits; 0: not found
  PricedPlan on_more_gpus{};
  std::string device_id{};  // so many of another card; empty: not found
  PricedPlan on_other_device{};
};

inline void describe(Fields& f, NearestFit& n) {
  f("plan", n.plan, "that needs least");
  f("missing_bytes", n.missing_bytes);
  f.object("more_gpus",
           [&] {
             f("gpus", n.gpus);
             f("nodes", n.nodes);
             f("plan", n.on_more_gpus);
           },
           {.meaning = "the fewest, by doubling, on which a plan fits", .null_where = n.gpus == 0});
  f.object("other_device",
           [&] {
             f("id", n.device_id);
             f("plan", n.on_other_device);
           },
           {.meaning = "the smallest card that fits", .null_where = n.device_id.empty()});
}

struct PlanAdvice {
  std::string device_id{}, sample_unit{};
  int64_t usable_bytes = 0, gpus = 1, nodes = 1;
  int64_t global_batch = 1;
  std::vector<PricedPlan> plans{};
  PlanCounts counts{};
  std::vector<Crossing> crossings{};  // of the first plan
  std::string reason{};               // why it is the first
  std::optional<StepLanes> lanes{};   // of the first plan, where options.lanes says so
  std::optional<NearestFit> nearest{};
  std::map<std::string, std::string> refusals{};
  AnswerNotes notes{};  // of the first plan
};

inline void describe(Fields& f, PlanAdvice& a) {
  f.object("device", [&] {
    f("id", a.device_id);
    f("usable_bytes", a.usable_bytes);
  });
  f("gpus", a.gpus, {.low = 2});
  f("nodes", a.nodes, {.low = 1});
  f("global_batch", a.global_batch, {.meaning = "samples of an update, of all GPUs", .low = 1});
  f("sample_unit", a.sample_unit);
  f("advice", a.plans,
    "plans, the fastest first: no other that was estimated is both smaller and as fast. Those that "
    "fit, or may fit where none surely does, or need least where none may");
  f("plans", a.counts, "how many there were");
  f("crossings", a.crossings, "of the first plan: which links its axes cross");
  f("reason", a.reason, {.meaning = "why the first plan is the best", .settings = true});
  f("lanes", a.lanes,
    {.meaning = "of the first plan: what runs when on a GPU, along each axis and in each stage",
     .absent_where = !a.lanes});
  f("nearest", a.nearest, "where no plan fits: what is missing, and what would do");
  f("refusals", a.refusals, "why the model cannot be split so, by settings");
}

}  // namespace plimsoll
