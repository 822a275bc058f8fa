#include "estimator/app/report/json.h"

#include "estimator/answer/memory_part.h"
#include "estimator/answer/metrics.h"
#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/document.h"

namespace plimsoll {
namespace {

void describe_verdict(Fields& f, Estimate& e) {
  const bool unknown = !e.judged();
  f("fits", e.fits,
    {.meaning = "the point estimate, device_bytes, is at most usable_bytes; null, and N529, as "
                "may_fit and verdict, where one of them is not known (--gpu cpu)",
     .null_where = unknown});
  f("may_fit", e.memory.verdict == Verdict::kMayFit,
    {.meaning = "the verdict is may_fit", .null_where = unknown});
  f("verdict", e.memory.verdict,
    {.meaning =
         "fits: the high end of device_range_bytes is at most usable_bytes; may_fit: only the "
         "low end is; does_not_fit: neither is",
     .null_where = unknown});
}

void describe_device(Fields& f, Estimate& e) {
  f("id", e.device_id);
  f("name", e.device_name);
  const bool unknown = e.on_host && e.device_memory_bytes <= 0;
  f("memory_bytes", e.device_memory_bytes, {.null_where = unknown});
  f("usable_bytes", e.usable_bytes, {.null_where = unknown, .title = "usable on the GPU"});
  f("peak_flops", e.peak_flops,
    {.meaning =
         "of the fastest unit that a kernel of the step runs on, at the highest clock of the GPU",
     .low = 0});
  f("bandwidth_bytes_per_second", e.bandwidth_bytes_per_second, {.low = 0});
}

void describe_memory(Fields& f, Estimate& e, bool parts) {
  describe(f, e.memory, e.on_host, [&] {
    f("parts", parts ? memory_parts(e) : std::vector<MemoryPart>{},
      {.meaning = "with --html: what device_bytes consist of, largest first",
       .absent_where = !parts});
    f("tensors", e.peak_tensors,
      {.meaning = "with --html: the largest live tensors at the peak, at most 15",
       .absent_where = e.peak_tensors.empty()});
  });
  f.list("curve", e.memory_curve, [&](MemoryMoment& m) { describe(f, m, e.memory.context_bytes); },
         {.meaning =
              "with --html: live bytes over the step at no more than 240 moments, the fullest of "
              "neighbouring ones; with the workspace of a running kernel, without the context",
          .absent_where = e.memory_curve.empty()});
}

void describe_batches(Fields& f, LargestBatch& largest) {
  describe_sizes(f, largest);
  f.list("rounds", largest.rounds, [&](RoundBatch& r) {
    f("batch", r.memory.batch, {.low = 1});
    describe(f, r.memory, largest.usable_bytes);
    describe_speed(f, r);
  });
}

// What lists there are, and what only pages ask for.
void describe_lists(Fields& f, Estimate& e, const JsonOptions& options) {
  const bool neither = options.lists == JsonOptions::Lists::kNeither;
  std::vector<LayerEstimate> none;
  f.list("layers", neither ? none : e.layers, [&](LayerEstimate& l) { describe(f, l, e.on_host); });
  f("lanes", e.time.lanes,
    {.meaning = "with --html, of several GPUs: what one of them does over a step, and what goes "
                "over which link meanwhile",
     .absent_where = !e.time.lanes});
  f("modules", e.modules,
    {.meaning = "with --html: layers in sums, a module before those inside it; those of depth 1 "
                "sum to the layers",
     .absent_where = e.modules.empty()});
  LargestBatch nothing;
  f.object("batches",
           [&] { describe_batches(f, options.batches ? unchanged(*options.batches) : nothing); },
           {.meaning = "with --html: the answer of max-batch", .absent_where = !options.batches});
  f("unbeaten", options.unbeaten,
    {.meaning = "with --html of compare: it fits, and no other needs less memory at the same speed",
     .absent_where = !options.unbeaten});
  f("price_of_a_million_samples", options.price_of_million,
    {.meaning = "with --html of compare and --price",
     .absent_where = !options.price_of_million,
     .low = 0});
  f("kept", e.kept, {.absent_where = options.lists != JsonOptions::Lists::kAll || e.kept.empty()});
}

void describe_result(Fields& f, Estimate& e, const JsonOptions& options) {
  describe_verdict(f, e);
  f.object("device", [&] { describe_device(f, e); });
  f("parallel", e.parallel,
    {.meaning = "how several GPUs share the model", .absent_where = e.parallel.axes.empty()});
  f.object("memory", [&] { describe_memory(f, e, !e.peak_tensors.empty() || options.unbeaten); });
  f("serve", e.serve, {.absent_where = !e.serve});
  f("time", e.time,
    {.meaning = "null, and N528, of a run on the host (--gpu cpu)", .null_where = e.on_host});
  f("metrics", metrics_of(e), "of the step, by published definitions (TBD, IISWC 2018)");
  describe_lists(f, e, options);
  f("remedies", e.remedies,
    "what would help where the verdict is not `fits`: changes that need less memory, best verdicts "
    "first");
  f("recognised", e.recognised);
}

}  // namespace

void describe(Fields& f, Estimate& e, const JsonOptions& options) {
  describe_head(f, "plimsoll.estimate");
  f("input", e.input);
  f.object("result", [&] { describe_result(f, e, options); });
  describe_notes(f, e);
}

std::string to_json(const Estimate& e, const JsonOptions& options) {
  return described_text([&](Fields& f) { f.object([&] { describe(f, unchanged(e), options); }); },
                        options.layout);
}

}  // namespace plimsoll
