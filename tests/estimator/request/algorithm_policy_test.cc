#include "estimator/request/algorithm_policy.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("--conv-algo takes policies, Theano's words for them, and algorithms") {
  CHECK(asked_algorithm("time_once")->policy == AlgorithmPolicy::kTimeOnce);
  CHECK(asked_algorithm("FFT_TILING")->policy == AlgorithmPolicy::kForced);
  CHECK(asked_algorithm("FFT_TILING")->algorithm == ConvAlgorithm::kFftTiling);
  const auto unknown = asked_algorithm("FTT");
  REQUIRE(!unknown);
  CHECK(unknown.error().front().code == "E106");
  CHECK(unknown.error().front().help.find("FFT_TILING") != std::string::npos);
}

TEST_CASE("scratch memory is that of the algorithm asked for, else the library's choice") {
  CHECK(scratch_name(*asked_algorithm("WINOGRAD_NONFUSED")) == "winograd_nonfused");
  CHECK(scratch_name(*asked_algorithm("im2col")) == "im2col");
  CHECK(scratch_name(*asked_algorithm("autotune")).empty());
  CHECK(scratch_name(*asked_algorithm("guess_once")).empty());
}
