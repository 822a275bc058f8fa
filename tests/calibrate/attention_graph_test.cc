// The real cuDNN finds its fused kernels for our graphs of attention; it compiles them, for which
// it needs NVRTC and a driver's library: one of the tests' own, without a GPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "tests/calibrate/calibrate_program.h"

using namespace plimsoll::test;

#ifdef PLIMSOLL_ATTENTION_PLANS
namespace {

Ran attention_plans(const Scratch& scratch, const char* gpu) {
  RunOptions options;
  options.program = PLIMSOLL_ATTENTION_PLANS;
  options.address_space = RLIM_INFINITY;
  options.seconds = 240;
  for (char** at = environ; *at; ++at) {
    if (!std::string_view(*at).starts_with("LD_LIBRARY_PATH=")) options.environment.push_back(*at);
  }
  // Its own libraries first, whatever the machine has: what cuDNN opens itself is found by name.
  std::string folders = scratch.path("");
  if (const char* cudnn = std::getenv("PLIMSOLL_CUDNN"))
    folders += fmt::format(":{0}/lib:{0}/../cuda_nvrtc/lib", cudnn);
  options.environment.push_back("LD_LIBRARY_PATH=" + folders);
  return run_plimsoll({gpu}, std::move(options));
}

}  // namespace

TEST_CASE("attention graph: cuDNN 9.10 lists fused kernels for it from Ampere on") {
  if (skipped()) return;
  // cuDNN compiles these kernels, and without its compiler lists none.
  const char* cudnn = std::getenv("PLIMSOLL_CUDNN");
  if (cudnn && !std::filesystem::exists(std::string(cudnn) + "/../cuda_nvrtc"))
    return not_run("no NVRTC beside cuDNN");
  const Scratch scratch;
  std::filesystem::create_symlink(PLIMSOLL_FAKE_DRIVER, scratch.path("libcuda.so.1"));
  for (const char* gpu : {"tesla-v100-sxm2-16gb", "a100-sxm-40gb", "h100-sxm-80gb"}) {
    const Ran ran = attention_plans(scratch, gpu);
    CAPTURE(ran.err);
    if (ran.out.starts_with("missing: ") || !says(ran.out, "cuDNN 9.10."))
      return not_run("cuDNN 9.10: " + ran.out);
    REQUIRE(ran.status == 0);
    std::istringstream lines(ran.out);
    std::string line;
    std::getline(lines, line);
    // Norms' graphs have an engine from Ampere on, groups' none.
    const bool old = std::string_view(gpu) == "tesla-v100-sxm2-16gb";
    CHECK(
        (std::getline(lines, line) && line == (old ? "layer_norm plans 0" : "layer_norm plans 1")));
    CHECK((std::getline(lines, line) && line == "group_norm plans 0"));
    int told = 0;
    while (std::getline(lines, line)) {
      CAPTURE(line);
      ++told;
      CHECK(says(line, " plans 0 ") == old);
      // Backward sums up the queries' gradient in 32 bits: 4 x 12 x 1024 x 64 of them.
      if (line.starts_with("backward") && !says(line, " plans 0 "))
        CHECK(std::stoll(line.substr(line.rfind(' '))) > 4LL * 12 * 1024 * 64 * 4);
    }
    CHECK(told == 24);
  }
}
#endif
