// Runs of models that are left out: what the record says is not what ran.
#include "estimator/app/validate/models.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/validated.h"

using namespace plimsoll;
using test::answer;

namespace {

const std::string kMeasuredRun =
    R"("device": "titan-xp", "model": "builtin:cnn-torres", "batch": 32,
       "framework": "pytorch", "framework_version": "1.4", "nvidia_smi_mb": 600)";

std::string skipped_with(const std::string& more) {
  return answer(kMeasuredRun + more, "memory")[0].skipped;
}

}  // namespace

TEST_CASE("validate: a version that nobody released leaves the run out") {
  const auto why = [](const std::string& framework, const std::string& version) {
    return answer(fmt::format(R"("device": "titan-xp", "model": "builtin:cnn-torres", "batch": 32,
        "framework": "{}", "framework_version": "{}", "nvidia_smi_mb": 600)",
                              framework, version),
                  "memory")[0]
        .skipped;
  };
  CHECK(why("pytorch", "99").starts_with("there is no pytorch 99: newest known is "));
  CHECK(why("pytorch", "24.05").starts_with("there is no pytorch 24.5: "));
  CHECK(why("tensorflow", "7.1").starts_with("there is no tensorflow 7.1: "));
  for (const char* version : {"1.4", "1", "2.1.0+cu118", "1.1-1.4 era", "nightly", ""}) {
    CAPTURE(version);
    CHECK(why("pytorch", version).empty());
  }
  CHECK(skipped_with(R"(, "cudnn": "99")").starts_with("there is no cudnn 99: "));
  CHECK(skipped_with(R"(, "cuda": "99.1")").starts_with("there is no cuda 99.1: "));
  CHECK(skipped_with(R"~(, "cudnn": "7 (major only given)", "cuda": "10.1.243")~").empty());
}

TEST_CASE("validate: a run on no GPU is none") {
  CHECK(skipped_with(R"(, "n_gpus": 0)") == "the record has no GPU: n_gpus is 0");
}
