#include <doctest/doctest.h>

#include <string>

#include "hwdb/machine.h"
#include "tests/calibrate/calibrate_program.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

const std::string kKernels = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/kernels.csv";

TEST_CASE("calibrate fit: measured kernels become a machine file that plimsoll takes") {
  if (!test::has_calibrate()) return;
  const test::Scratch scratch;
  const std::string out = scratch.path("machine.json");
  const test::Ran fitted = test::run_calibrate({"fit", kKernels, "--out", out});
  CAPTURE(fitted.err);
  REQUIRE(fitted.status == 0);
  CHECK(test::says(fitted.out,
                   "refused: it increases the error of kernels that were left out of the fit"));
  const auto machine = open_machine(out);
  REQUIRE(machine);
  CHECK(machine->gpu == "h100-sxm-80gb");
  REQUIRE_FALSE(machine->factors.empty());
  for (const MachineFactor& f : machine->factors) CHECK(f.error_after < f.error_before);

  std::vector<std::string> command = {"estimate",    "builtin:resnet50", "--gpu",     "h100",
                                      "--precision", "amp-fp16",         "--machine", out,
                                      "--wide",      "--basis"};
  const test::Ran here = test::run_plimsoll(command);
  CHECK(here.status == 0);
  CHECK(test::says(here.out, "kernels measured on this machine"));
  command[3] = "t4";
  const test::Ran elsewhere = test::run_plimsoll(command);
  CHECK(test::says(elsewhere.err, "--machine has no effect: the file is of another GPU [W516]"));
  command.push_back("--strict");
  CHECK(test::run_plimsoll(command).status == 3);
  command[7] = kKernels;
  CHECK(test::run_plimsoll(command).status == 3);
}

TEST_CASE("calibrate fit: what no machine file can be made of is said") {
  if (!test::has_calibrate()) return;
  const test::Scratch scratch;
  const std::string header = "kind,device,op,dtype,cuda,m,n,k,time_ms\n";
  const std::string row = ",gemm,fp32,12.1,512,512,512,0.05\n";
  const std::string two =
      scratch.write("two.csv", header + "kernel,tesla-t4" + row + "kernel,rtx-3090" + row);
  const std::string none = scratch.write("none.csv", header + "kernel,no-such-card" + row);
  const std::string pool = scratch.write(
      "pool.csv",
      "kind,device,op,function,rows,cols,read_bytes,written_bytes,flop,dtype,time_ms\n"
      "kernel,tesla-t4,pool,max_pool,2048,3136,102760448,25690112,57802752,fp32,0.7\n");
  const auto fails = [](std::vector<std::string> arguments, const std::string& code) {
    const test::Ran ran = test::run_calibrate(std::move(arguments));
    CAPTURE(ran.err);
    CHECK(ran.status != 0);
    CHECK(test::says(ran.err, code));
  };
  fails({"fit"}, "[E108]");
  fails({"fit", two}, "[E717]");
  fails({"fit", none}, "[E716]");
  fails({"fit", pool}, "[E716]");  // cuDNN's, where frameworks have their own
  CHECK(test::run_calibrate({"fit", two, "--gpu", "t4"}).status == 0);
}

}  // namespace
}  // namespace plimsoll
