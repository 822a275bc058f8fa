#include <fmt/format.h>

#include "estimator/cli/idle_flags.h"
#include "estimator/cli/options.h"
#include "estimator/cli/values.h"
#include "estimator/cli/verb.h"
#include "estimator/estimator.h"
#include "estimator/memory/confidence.h"
#include "estimator/plan/batch_memory.h"
#include "estimator/plan/max_batch.h"
#include "estimator/report/text.h"
#include "estimator/report/version.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/lengths.h"
#include "graph/json/writer.h"

namespace plimsoll::cli {
namespace {

struct MaxBatchFlags {
  SharedFlags shared;
  bool json = false;
};

std::string as_json(const MaxBatchAnswer& a, const Evaluator& evaluator, int64_t capacity) {
  JsonWriter out = begin_document("plimsoll.max-batch");
  out.key("result").begin_object();
  out.key("device").begin_object();
  out.key("id").string(evaluator.platform().device.id);
  out.key("usable_bytes").integer(capacity).end_object();
  out.key("safe").integer(a.safe);
  out.key("may_fit").begin_array().integer(a.first_may_fit).integer(a.last_may_fit).end_array();
  out.key("searched_to").integer(a.searched_to);
  out.key("points").begin_array();
  for (const BatchPoint& p : a.points) {
    out.begin_object();
    out.key("batch").integer(p.batch);
    out.key("device_bytes").integer(p.device_bytes);
    out.key("range").begin_array().integer(p.low).integer(p.high).end_array();
    out.key("verdict").string(name(verdict_of({p.low, p.high}, capacity)));
    out.end_object();
  }
  out.end_array().end_object().end_object();
  return out.take() + "\n";
}

// Memory grows with the batch but for the allocator's segments.
const BatchPoint* first_dip(const std::vector<BatchPoint>& points) {
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i].device_bytes < points[i - 1].device_bytes) return &points[i];
  }
  return nullptr;
}

std::string as_text(const MaxBatchAnswer& a, int64_t capacity) {
  std::string text =
      a.safe > 0 ? fmt::format("SAFE {}", a.safe) : std::string("NOTHING FITS SAFELY");
  if (a.last_may_fit > a.safe) {
    text += fmt::format("       may fit: {}-{}", a.first_may_fit, a.last_may_fit);
    if (a.last_may_fit < a.searched_to)
      text += fmt::format("      will not fit: {} and up", a.last_may_fit + 1);
  }
  if (a.last_may_fit == a.searched_to) text += fmt::format("      searched to {}", a.searched_to);
  text += fmt::format("\n\n{:>8} {:>12} {:>25} {:>12}\n", "batch", "peak", "range", "of capacity");
  for (const BatchPoint& p : a.points) {
    text += fmt::format("{:>8} {:>12} {:>12} -{:>11} {:>10.0f} %{}\n", p.batch,
                        human_bytes(p.device_bytes), human_bytes(p.low), human_bytes(p.high),
                        100.0 * static_cast<double>(p.device_bytes) /
                            static_cast<double>(std::max<int64_t>(1, capacity)),
                        p.batch == a.safe ? "  <" : "");
  }
  if (const BatchPoint* dip = first_dip(a.points)) {
    text += fmt::format(
        "{} takes less than fewer do: allocators take segments, and of several "
        "sizes\n",
        dip->batch);
  }
  return text;
}

int run_max_batch(const MaxBatchFlags& flags) {
  auto request = to_request(flags.shared);
  if (!request) return report(request.error());
  *request = at_longest(std::move(*request));
  auto hwdb = open_database(*request, "max-batch");
  if (!hwdb) return report(hwdb.error());
  if (const int fault = report(as_strict(idle_flags("max-batch", *request), request->strict));
      fault != 0)
    return fault;
  MaxBatchQuery query;
  const auto count = [&](const char* name, int64_t& into) -> Result<void> {
    const std::string* text = value_of(flags.shared, name);
    if (!text) return {};
    auto value = parse_count(std::string("--") + name, *text, 1, int64_t{1} << 30);
    if (!value) return tl::make_unexpected(value.error());
    into = *value;
    return {};
  };
  if (auto read = count("multiple", query.multiple); !read) return report(read.error());
  if (auto read = count("max", query.max); !read) return report(read.error());
  double confidence = kUsualConfidence;
  if (const std::string* text = value_of(flags.shared, "confidence")) {
    auto value = parse_real("--confidence", *text, .5, .99);
    if (!value) return report(value.error());
    confidence = *value;
  }
  auto platform = find_platform(*hwdb, *request, request->devices.front());
  if (!platform) return report(platform.error());
  if (!request->batch) request->batch = 32;
  auto model = compile(*request, *platform);
  if (!model) return report(in_model(model.error(), request->model));
  auto evaluator = Evaluator::make(std::move(*platform), *request);
  if (!evaluator) return report(evaluator.error());
  const int status = report(as_strict(in_model(model->warnings, request->model), request->strict));
  if (status != 0) return status;
  query.capacity = memory_bytes(evaluator->platform(), *request);
  query.reserve = request->reserve_bytes + request->display_bytes;
  query.start = *request->batch;  // no other decisions than those it was compiled for
  BatchMemory prober(*request, *evaluator, std::move(*model), confidence);
  auto answer = max_batch(std::ref(prober), query);
  if (!answer) return report(answer.error());
  const int64_t capacity = query.capacity - query.reserve;
  return print(flags.json ? as_json(*answer, *evaluator, capacity) : as_text(*answer, capacity),
               answer->safe > 0 ? 0 : 1);
}

}  // namespace

Verb make_max_batch(CLI::App& root) {
  auto flags = std::make_shared<MaxBatchFlags>();
  CLI::App* app =
      root.add_subcommand("max-batch", "the largest batch that fits safely, and those that may");
  add_shared(*app, flags->shared);
  add_value(*app, flags->shared, "multiple", "only multiples of this");
  add_value(*app, flags->shared, "max", "largest batch of interest");
  add_value(*app, flags->shared, "confidence", "how often the ranges hold: 0.5 to 0.99; else 0.95");
  app->add_flag("--json", flags->json, "as JSON");
  return {app, [flags] { return run_max_batch(*flags); }};
}

}  // namespace plimsoll::cli
