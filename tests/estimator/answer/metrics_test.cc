#include "estimator/answer/metrics.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

const Metric& metric(const Metrics& metrics, std::string_view id) {
  const auto found = std::ranges::find(metrics.rates, id, &Metric::id);
  REQUIRE(found != metrics.rates.end());
  return *found;
}

const MemoryCategory& category(const Metrics& metrics, std::string_view id) {
  const auto found = std::ranges::find(metrics.memory, id, &MemoryCategory::id);
  REQUIRE(found != metrics.memory.end());
  return *found;
}

Estimate vgg() {
  Request request = test::request("builtin:vgg16", "gtx-titan-x", 32);
  request.framework = "tensorflow-1.3";
  return test::answer(request);
}

}  // namespace

TEST_CASE("metrics: FP32 utilisation counts what kernels execute") {
  const Estimate e = vgg();
  double direct = 0, executed = 0;
  for (const LayerEstimate& l : e.layers)
    direct += static_cast<double>(l.flop_forward + l.flop_backward);
  for (const KernelShare& k : e.time.kernels) executed += k.flop * static_cast<double>(k.count);
  const double peak = 6.6e12;  // hwdb/devices/gtx-titan-x.json, to 3 %
  const double busy = static_cast<double>(e.time.gpu_ns) * 1e-9;
  const Metrics metrics = metrics_of(e);
  const double fp32 = *metric(metrics, "fp32_utilisation").value;
  CHECK(fp32 == doctest::Approx(executed / (peak * busy)).epsilon(.05));
  // Winograd saves half of the products of 3x3 filters, or more.
  CHECK(executed < .7 * direct);
}

TEST_CASE("metrics: rates are bytes over the step; what is not known has no value") {
  const Estimate e = vgg();
  const Metrics metrics = metrics_of(e);
  const double bytes = *metric(metrics, "pcie_to_device_bytes").value;
  CHECK(bytes >= 32 * 3 * 224 * 224 * 4);
  const double seconds = static_cast<double>(e.time.step_ns) * 1e-9;
  CHECK(*metric(metrics, "pcie_to_device_rate").value == doctest::Approx(bytes / seconds));
  CHECK(*metric(metrics, "pcie_from_device_bytes").value == 4);
  CHECK(*metric(metrics, "throughput").value == e.time.samples_per_second);
  CHECK_FALSE(metric(metrics, "cpu_utilisation").value);
  CHECK_FALSE(metric(metrics, "cpu_utilisation").unknown.empty());
}

TEST_CASE("metrics: CPU utilisation is over all cores of a host that is named") {
  Request request = test::request("builtin:resnet50", "tesla-p100-sxm2-16gb", 32);
  request.framework = "tensorflow-1.3";
  request.host = "dgx-1";
  const Estimate e = test::answer(request);
  const auto busy = static_cast<double>(e.time.host_ns + e.time.framework_ns);
  CHECK(*metric(metrics_of(e), "cpu_utilisation").value ==
        doctest::Approx(busy / (40 * static_cast<double>(e.time.step_ns))));
}

TEST_CASE("metrics: loading counts whether the step waits for it or not") {
  Request request = test::request("builtin:resnet50", "a100-sxm-40gb", 32);
  request.workers = 8;
  const Estimate e = test::answer(request);
  CHECK(e.time.loading_ns > 32 * 7000);  // hwdb/hosts/generic.json: 7 us a sample at least
  CHECK(e.time.loading_ns > e.time.loader_ns);
}

TEST_CASE("metrics: memory's categories have maxima of their own and shares that add up") {
  const Estimate e = vgg();
  const Metrics metrics = metrics_of(e);
  double shares = 0;
  for (const MemoryCategory& c : metrics.memory) {
    CAPTURE(c.id);
    CHECK(c.bytes <= c.maximum_bytes);
    CHECK_FALSE(c.definition.empty());
    shares += c.share;
  }
  CHECK(shares == doctest::Approx(1));
  CHECK(category(metrics, "weights").maximum_bytes >= e.memory.parameter_bytes);
  CHECK(category(metrics, "feature_maps").maximum_bytes ==
        e.memory.max_by_role[static_cast<size_t>(Role::kFeatureMap)]);
  CHECK(category(metrics, "gradient_maps").maximum_bytes > 0);
  CHECK(category(metrics, "workspace").maximum_bytes == e.memory.workspace_bytes);
}

TEST_CASE("metrics: classes of kernels add up to the step's GPU time") {
  const Estimate e = vgg();
  double shares = 0;
  for (const ClassShare& c : e.time.by_class) shares += c.share;
  CHECK(shares == doctest::Approx(1));
  CHECK(std::ranges::is_sorted(e.time.by_class, std::ranges::greater{}, &ClassShare::ns));
}

TEST_CASE("metrics: cuDNN's batch norms go by the names that profilers show") {
  Request request = test::request("builtin:resnet50", "quadro-p4000", 32);
  request.framework = "mxnet-0.11";
  request.cudnn = "6.0";
  const auto name_of = [&](std::string_view of) -> std::string_view {
    static Estimate e;
    e = test::answer(request);
    const auto row = std::ranges::find(e.time.by_class, of, &ClassShare::kernel_class);
    REQUIRE(row != e.time.by_class.end());
    return row->library_kernel;
  };
  CHECK(name_of("batch_norm backward") == "cuda::detail::bn_bw_1C11_kernel_new");
  CHECK(name_of("relu forward") == "cuda::detail::activation_fw_4d_kernel");
  CHECK(name_of("gemm").empty());
  request.cudnn = "9.10";  // nothing is known of its names
  CHECK(name_of("batch_norm backward").empty());
}

}  // namespace plimsoll
