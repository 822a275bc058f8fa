// Records of kernels and layers, held against predictions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/support/validated.h"

using namespace plimsoll;
using test::answer;
using test::skipped;

TEST_CASE("validate: kernels and layers") {
  const std::string conv =
      R"("device": "titan-xp", "dtype": "fp32", "n": 16, "c": 64, "h": 56, "w": 56, "k": 64, "r": 3,
         "s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 1, "stride_w": 1, "time_ms": 0.5)";
  const auto forward = answer(R"("op": "conv", "pass": "forward", )" + conv, "kernel");
  REQUIRE(forward.size() == 1);
  CHECK(forward[0].op == "conv");
  CHECK(forward[0].pass == "forward");
  REQUIRE(forward[0].predicted);
  CHECK(*forward[0].predicted > 0);
  // A layer's backward pass is the gradients of data and weights.
  const auto layer = answer(R"("layer_type": "conv", "pass": "backward", )" + conv, "layer");
  const auto data = answer(R"("op": "conv", "pass": "backward_data", )" + conv, "kernel");
  const auto weights = answer(R"("op": "conv", "pass": "backward_weights", )" + conv, "kernel");
  CHECK(*layer[0].predicted == doctest::Approx(*data[0].predicted + *weights[0].predicted));
  CHECK(layer[0].op == "conv");
}

TEST_CASE("validate: the algorithm a record names stands beside the one predicted") {
  const auto choice = [](const std::string& more) {
    return answer(
               R"("op": "conv", "pass": "forward", "device": "tesla-v100-sxm2", "dtype": "fp32",
                  "cudnn": "7.6", "n": 16, "c": 512, "h": 14, "w": 14, "k": 512, "pad_h": 1,
                  "pad_w": 1, "stride_h": 1, "stride_w": 1, "time_ms": 0.5, )" +
                   more,
               "kernel")[0]
        .algorithm;
  };
  const auto winograd = choice(R"("r": 3, "s": 3, "algo": "WINOGRAD_NONFUSED")");
  REQUIRE(winograd);
  CHECK(winograd->measured == "WINOGRAD_NONFUSED");
  CHECK(winograd->predicted == winograd->measured);
  CHECK(winograd->same);
  CHECK(winograd->ratio == 1.0);
  const auto product = choice(R"("r": 3, "s": 3, "algo": "IMPLICIT_GEMM")");
  REQUIRE(product);
  CHECK(product->predicted == winograd->predicted);
  CHECK_FALSE(product->same);
  CHECK(*product->ratio > 1.5);
  // Offsets computed ahead or not: one method. One tap leaves nothing else.
  const auto offsets = choice(R"("r": 1, "s": 1, "algo": "IMPLICIT_PRECOMP_GEMM")");
  REQUIRE(offsets);
  CHECK(offsets->predicted == "IMPLICIT_GEMM");
  CHECK(offsets->same);
  CHECK_FALSE(choice(R"("r": 1, "s": 1, "algo": "WINOGRAD")")->ratio);
  CHECK_FALSE(choice(R"("r": 3, "s": 3, "algo": "NCCL 2.0 MPI")"));
  CHECK_FALSE(choice(R"("r": 3, "s": 3)"));
}

TEST_CASE("validate: a product is priced with the cuBLAS and the layout its source used") {
  // DeepBench: column-major, cuBLAS 8.0.88, which splits k as 8.0 does not yet.
  const auto error_with = [](const std::string& cuda) {
    const auto lines = answer(
        R"("device": "gtx-1080-ti", "op": "gemm", "dtype": "fp32", "m": 1760, "n": 16, "k": 1760,
           "a_t": "N", "b_t": "N", "time_ms": 0.058, "cuda": ")" +
            cuda + "\"",
        "kernel");
    REQUIRE(lines[0].error);
    return std::abs(*lines[0].error);
  };
  CHECK(error_with("8.0.88") < error_with("8.0"));
  const auto of = [](const std::string& sizes) {
    const auto lines = answer(
        R"("device": "tesla-p100-pcie-16gb", "op": "gemm", "dtype": "fp32", "time_ms": 1, )" +
            sizes,
        "kernel");
    REQUIRE(lines[0].predicted);
    return *lines[0].predicted;
  };
  // PyTorch's linear, row-major with the weight stored [n, k], is cuBLAS's TN of turned sizes.
  CHECK(of(R"("variant": "linear", "m": 512, "n": 4096, "k": 1024, "a_t": "N", "b_t": "T")") ==
        of(R"("m": 4096, "n": 512, "k": 1024, "a_t": "T", "b_t": "N")"));
}

TEST_CASE("validate: a convolution is that of the library its source names") {
  // soumith/convnet-benchmarks on the TITAN X, 9x9 filters: cuDNN R3 transforms, Torch's own
  // library multiplies columns: 13.75 against 146.45 ms.
  const std::string sizes =
      R"("device": "gtx-titan-x", "op": "conv", "pass": "forward", "dtype": "fp32", "n": 128,
         "c": 64, "h": 64, "w": 64, "k": 128, "r": 9, "s": 9, )";
  const auto fourier = answer(sizes + R"("cudnn": "R3-rc1", "time_ms": 13.75)", "kernel");
  const auto columns =
      answer(sizes + R"("library": "nn.SpatialConvolutionMM", "time_ms": 146.45)", "kernel");
  REQUIRE(fourier[0].predicted);
  REQUIRE(columns[0].predicted);
  CHECK(*columns[0].predicted > 5 * *fourier[0].predicted);
}

TEST_CASE("validate: a convolution whose algorithm the library guessed is priced as its guess") {
  // cuDNN 9 on an H100: its first choice copies by the element, which what is timed never does.
  const std::string sizes =
      R"("device": "h100-sxm-80gb", "op": "conv", "pass": "forward", "dtype": "tf32", "n": 32,
         "c": 96, "h": 56, "w": 56, "k": 96, "r": 3, "s": 3, "pad_h": 1, "pad_w": 1,
         "stride_h": 1, "stride_w": 1, "groups": 2, "cudnn": "9.19", "layout": "nchw",
         "time_ms": 1.893)";
  const auto guessed = answer(sizes + R"(, "algo": "heuristic")", "kernel");
  const auto timed = answer(sizes, "kernel");
  REQUIRE(guessed[0].predicted);
  REQUIRE(timed[0].predicted);
  CHECK(*guessed[0].predicted == doctest::Approx(1.893).epsilon(.15));
  CHECK(*timed[0].predicted < .3);
}

// hwdb/calibrations/measured/recurrent.csv: 0.68 and 1.58 ms.
TEST_CASE("validate: a recurrent layer is predicted as the algorithm that the record names") {
  const auto predicted = [](const std::string& algorithm) {
    const auto lines = answer(R"("device": "h100", "op": "rnn", "cell": "lstm", "hidden": 512,
        "batch": 64, "timesteps": 100, "input_mode": "skip", "dtype": "fp16_mixed_tensor_core",
        "cudnn": "9.19", "pass": "forward", "time_ms": 1, "algo": ")" +
                                  algorithm + "\"",
                              "kernel");
    REQUIRE(lines.size() == 1);
    REQUIRE(lines[0].predicted);
    return *lines[0].predicted;
  };
  CHECK(predicted("persistent") == doctest::Approx(.676).epsilon(.1));
  CHECK(predicted("standard") == doctest::Approx(1.58).epsilon(.1));
}

TEST_CASE("validate: a line of a profiler's table is the share of the classes of its kernel") {
  const std::string run = R"("device": "quadro-p4000", "model": "resnet-50", "batch": 8,
      "mode": "train", "framework": "mxnet", "framework_version": "0.11.0", "cudnn": "6",
      "quantity": "kernel_share_and_fp32_utilisation", "duration_pct": 5.14,
      "fp32_utilisation_pct": 10, "kernel": )";
  const auto lines = answer(run + R"("cuda::detail::activation_bw_4d_kernel")", "model");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].quantity == "kernel_share_pct activation_bw_4d_kernel");
  CHECK(lines[0].measured == 5.14);
  REQUIRE(lines[0].predicted);
  Request request = test::request("builtin:resnet50", "quadro-p4000", 8);
  request.framework = "mxnet-0.11";
  request.cudnn = "6.0";
  const auto e = estimate(request, test::hwdb());
  REQUIRE(e);
  for (const ClassShare& c : e->time.by_class) {
    if (c.kernel_class == "relu backward")
      CHECK(*lines[0].predicted == doctest::Approx(100 * c.share));
  }
  CHECK(skipped(run + R"("magma_lds128_sgemm_kernel")", "model")
            .starts_with("the kernel's name matches no class"));
}
