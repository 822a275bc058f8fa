#include "estimator/behaviour/library.h"

#include <doctest/doctest.h>

#include "estimator/request/request.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

LibraryBehaviour behaviour(const char* framework, const KernelRequest& asked = {}) {
  return library_behaviour(*test::hwdb().framework(framework), asked, false);
}

}  // namespace

TEST_CASE("library behaviour: a framework's own") {
  const LibraryBehaviour pytorch = behaviour("pytorch");
  CHECK(pytorch.algorithm == AlgorithmPolicy::kHeuristic);
  CHECK_FALSE(pytorch.policy.benchmark);
  CHECK_FALSE(pytorch.policy.limit);
  CHECK_FALSE(pytorch.gives_way);
  const LibraryBehaviour tensorflow = behaviour("tensorflow-1");
  CHECK(tensorflow.policy.benchmark);
  CHECK(tensorflow.policy.limit == int64_t{4} << 30);
  CHECK(tensorflow.timing == TimingScratch::kEach);
  CHECK(tensorflow.pointwise_by_gemm);
  CHECK(tensorflow.gives_way);
  CHECK(behaviour("torch7").timing == TimingScratch::kLibrary);
  CHECK(behaviour("theano").algorithm == AlgorithmPolicy::kDeterministic);
  CHECK(behaviour("theano").policy.forced == "implicit_precomp_gemm");
  CHECK(behaviour("caffe").gives_way);  // though nothing is timed
  CHECK_FALSE(behaviour("caffe2").gives_way);
}

TEST_CASE("library behaviour: what is asked stands before the framework's") {
  KernelRequest asked;
  asked.cudnn_benchmark = true;
  CHECK(behaviour("pytorch", asked).policy.benchmark);
  CHECK(behaviour("pytorch", asked).gives_way);
  CHECK(behaviour("theano", asked).policy.forced.empty());
  asked.cudnn_benchmark = false;
  CHECK(behaviour("torch7", asked).policy.limit == 0);  // guess_limit
  asked.workspace_limit = 1 << 20;
  CHECK(behaviour("torch7", asked).policy.limit == 1 << 20);
  asked.conv_algorithm = *asked_algorithm("FFT");
  CHECK(behaviour("torch7", asked).algorithm == AlgorithmPolicy::kForced);
  CHECK(behaviour("torch7", asked).policy.forced == "fft");
}

}  // namespace plimsoll
