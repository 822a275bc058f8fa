#include "estimator/app/sweep/sweep.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

// What a sweep of `variants` over `sizes` says, by variant and point.
std::vector<std::vector<SweepPoint>> swept(const std::vector<Request>& variants,
                                           const std::vector<SizeAxis>& sizes,
                                           const SweepOptions& options = {}) {
  std::vector<std::vector<SweepPoint>> points(variants.size());
  const auto done = sweep(variants, sizes, *Hwdb::open(), options, [&](const SweepPoint& point) {
    REQUIRE(point.variant < variants.size());
    CHECK(point.point == static_cast<int64_t>(points[point.variant].size()));  // in order
    points[point.variant].push_back(point);
    return true;
  });
  CHECK(done);
  for (const auto& of_variant : points) CHECK(of_variant.size() == points_of(sizes));
  return points;
}

void check_same(const SweepPoint& point, const Estimate& e) {
  CHECK(point.device_id == e.device_id);
  CHECK(point.usable_bytes == e.usable_bytes);
  CHECK(point.device_bytes == e.memory.device_bytes);
  CHECK(point.device_range_bytes.low == e.memory.device_range.low);
  CHECK(point.device_range_bytes.high == e.memory.device_range.high);
  CHECK(point.fits == e.fits);
  CHECK(point.verdict == e.memory.verdict);
  // Sums of seconds in another order.
  CHECK(std::abs(point.step_ns - e.time.step_ns) <= 1);
  CHECK(std::abs(point.step_range_ns.low - e.time.step_range_ns.low) <= 1);
  CHECK(std::abs(point.step_range_ns.high - e.time.step_range_ns.high) <= 1);
  CHECK(point.samples_per_second == doctest::Approx(e.time.samples_per_second).epsilon(1e-12));
  CHECK(point.sample_unit == e.time.sample_unit);
  CHECK(point.host_bound == e.time.host_bound);
}

// Recipes of two optimizers and two accumulations on one device.
void add_recipes(Request request, std::vector<Request>& variants) {
  for (const OptimizerRow* optimizer : {find_optimizer("sgd"), find_optimizer("adam")}) {
    for (const int64_t accumulate : {1, 4}) {
      request.recipe.optimizer = optimizer;
      request.recipe.accumulate = accumulate;
      variants.push_back(request);
    }
  }
}

}  // namespace

TEST_CASE("sweep: every point as estimate() answers it") {
  struct Case {
    const char* model;
    std::vector<SizeAxis> sizes;
  };
  const std::vector<Case> cases = {
      {"squeezenet1_0", {{"batch", {1, 2, 33, 512}}}},  // decides otherwise at batch 1
      {"bert-base", {{"sequence", {64, 200}}, {"batch", {1, 16}}}},
      {"lstm-lm", {{"batch", {20}}}},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.model));
    std::vector<Request> variants;
    for (const PrecisionRow* precision : {find_precision("fp32"), find_precision("amp-fp16")}) {
      // Cards that share decisions, and one that does not; many GPUs; another framework.
      for (const char* device : {"quadro-p4000", "tesla-p100", "rtx-3090"}) {
        Request request = test::request(std::string("builtin:") + c.model, device);
        request.recipe.precision = precision;
        request.reserve_bytes = int64_t{1} << 30;
        add_recipes(request, variants);
      }
    }
    Request several = test::request(std::string("builtin:") + c.model, "v100");
    several.gpu_count = 4;
    variants.push_back(several);
    several.framework = "tensorflow-1.15";
    variants.push_back(several);
    const auto points = swept(variants, c.sizes);
    for (size_t v = 0; v < variants.size(); ++v) {
      for (const SweepPoint& point : points[v]) {
        Request alone = variants[v];
        const std::vector<size_t> place = place_of(point.point, c.sizes);
        for (size_t axis = 0; axis < c.sizes.size(); ++axis) {
          const int64_t value = c.sizes[axis].values[place[axis]];
          if (c.sizes[axis].symbol == "batch") {
            alone.batch = value;
          } else {
            alone.dims[c.sizes[axis].symbol] = value;
          }
        }
        CAPTURE(v);
        CAPTURE(point.point);
        REQUIRE_FALSE(point.failure);
        check_same(point, test::answer(alone));
      }
    }
  }
}

TEST_CASE("sweep: models of other parameters are other models") {
  std::vector<Request> variants(2, test::request("builtin:gpt2", "l4"));
  variants[0].settings["layers"] = "2";
  variants[1].settings["layers"] = "3";
  const auto points = swept(variants, {{"batch", {4}}});
  for (size_t v = 0; v < 2; ++v) {
    variants[v].batch = 4;
    check_same(points[v][0], test::answer(variants[v]));
  }
}

TEST_CASE("sweep: of memory alone the same bytes and no times") {
  const std::vector<Request> variants = {test::request("builtin:alexnet", "tesla-t4")};
  const std::vector<SizeAxis> sizes = {{"batch", {8, 64}}};
  const auto all = swept(variants, sizes), memory = swept(variants, sizes, {.time = false});
  for (size_t p = 0; p < 2; ++p) {
    CHECK(memory[0][p].device_bytes == all[0][p].device_bytes);
    CHECK(memory[0][p].step_ns == 0);
    CHECK(all[0][p].step_ns > 0);
  }
}

TEST_CASE("sweep: a point without an answer takes none from the others") {
  const std::vector<Request> variants = {test::request("builtin:alexnet", "tesla-t4")};
  const auto points = swept(variants, {{"batch", {8, 2'000'000'000, 16}}});
  REQUIRE(points[0][1].failure);
  CHECK(points[0][1].failure->front().code == "E232");
  const Estimate last = test::answer(test::request("builtin:alexnet", "tesla-t4", 16));
  check_same(points[0][0], test::answer(test::request("builtin:alexnet", "tesla-t4", 8)));
  check_same(points[0][2], last);
}

TEST_CASE("sweep: more points than a block, and none after the caller has enough") {
  const std::vector<Request> variants = {test::request("builtin:mlp", "tesla-t4")};
  SizeAxis batches{"batch", {}};
  for (int64_t batch = 1; batch <= 300; ++batch) batches.values.push_back(batch);
  const auto points = swept(variants, {batches});
  for (const int64_t batch : {1, 128, 129, 300}) {
    check_same(points[0][static_cast<size_t>(batch - 1)],
               test::answer(test::request("builtin:mlp", "tesla-t4", batch)));
  }
  int seen = 0;
  const std::vector<SizeAxis> sizes = {batches};
  CHECK(sweep(variants, sizes, *Hwdb::open(), {}, [&](const SweepPoint&) { return ++seen < 5; }));
  CHECK(seen == 5);
}

TEST_CASE("sweep: models that are not kept together are compiled again") {
  std::vector<Request> variants;
  add_recipes(test::request("builtin:alexnet", "tesla-t4"), variants);
  add_recipes(test::request("builtin:alexnet", "quadro-p4000"), variants);
  const std::vector<SizeAxis> sizes = {{"batch", {8, 9}}};
  const auto kept = swept(variants, sizes), alone = swept(variants, sizes, {.most_events = 0});
  for (size_t v = 0; v < variants.size(); ++v) {
    for (size_t p = 0; p < 2; ++p) {
      CHECK(alone[v][p].device_bytes == kept[v][p].device_bytes);
      CHECK(alone[v][p].step_ns == kept[v][p].step_ns);
      CHECK(alone[v][p].step_range_ns.high == kept[v][p].step_range_ns.high);
    }
  }
}

TEST_CASE("sweep: threads change no answer, and what is known is not worked out") {
  std::vector<Request> variants;
  for (const char* device : {"tesla-t4", "quadro-p4000"})
    add_recipes(test::request("builtin:mlp", device), variants);
  std::vector<SizeAxis> many = {{"batch", {}}};
  for (int64_t batch = 1; batch <= 300; ++batch) many[0].values.push_back(batch);
  const auto one = swept(variants, many);
  SweepOptions options{.threads = 4};
  options.known = [&](size_t variant, int64_t point) {
    std::optional<SweepPoint> known;
    if (point % 3 == 0) known = one[variant][static_cast<size_t>(point)];
    if (known) known->device_bytes = -1;
    return known;
  };
  const auto others = swept(variants, many, options);
  for (size_t variant = 0; variant < variants.size(); ++variant) {
    for (size_t i = 0; i < one[variant].size(); ++i) {
      const SweepPoint& a = one[variant][i];
      const SweepPoint& b = others[variant][i];
      CHECK(b.device_bytes == (i % 3 == 0 ? -1 : a.device_bytes));
      CHECK(b.step_ns == a.step_ns);
      CHECK(b.device_id == a.device_id);
    }
  }
}

TEST_CASE("sweep: of a pipeline what estimate() says of its stages") {
  Request request = test::request("builtin:gpt2", "a100-sxm-40gb");
  request.dims["sequence"] = 128;
  request.gpu_count = 4;
  request.recipe.accumulate = 4;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 4;
  std::vector<Request> variants = {request};
  request.parallel.schedule = Schedule::kForwardFirst;
  variants.push_back(request);
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  variants.push_back(request);
  const std::vector<SizeAxis> sizes = {{"batch", {1, 4}}};
  for (const SweepOptions& options : {SweepOptions{}, SweepOptions{.most_events = 0}}) {
    const auto points = swept(variants, sizes, options);
    for (size_t v = 0; v < variants.size(); ++v) {
      for (size_t p = 0; p < 2; ++p) {
        Request single = variants[v];
        single.batch = sizes[0].values[p];
        check_same(points[v][p], test::answer(single));
      }
    }
  }
}

TEST_CASE("sweep: a plan that the GPUs or the model do not allow has no answer, others have") {
  const auto with = [](int64_t tensor) {
    Request request = test::request("builtin:gpt2", "a100-sxm-40gb");
    request.dims["sequence"] = 128;
    request.gpu_count = 8;
    request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = tensor;
    return request;
  };
  // Not of 8 GPUs; not of 12 heads; and one that is.
  const std::vector<Request> variants = {with(3), with(8), with(2)};
  const auto points = swept(variants, {{"batch", {1, 2}}});
  for (const size_t refused : {0, 1}) {
    for (const SweepPoint& point : points[refused]) {
      REQUIRE(point.failure);
      CHECK(point.failure->front().code == "E120");
      CHECK(point.device_id == "a100-sxm-40gb");
    }
  }
  CHECK_FALSE(points[2][0].failure);
  CHECK(points[2][0].step_ns > 0);
}

TEST_CASE("sweep: what the command line has wrong ends it") {
  const auto code = [](const Request& request, const SizeAxis& axis) {
    const std::vector<Request> variants = {request};
    const std::vector<SizeAxis> sizes = {axis};
    const auto done =
        sweep(variants, sizes, *Hwdb::open(), {}, [](const SweepPoint&) { return true; });
    return done ? std::string() : done.error().front().code;
  };
  CHECK(code(test::request("builtin:alexnet", "no-such-card"), {"batch", {1}}) == "E140");
  CHECK(code(test::request("builtin:alexnet", "tesla-t4"), {"sequence", {1}}) == "E113");
  CHECK(code(test::request("builtin:no-such-net", "tesla-t4"), {"batch", {1}}) == "E150");
}
