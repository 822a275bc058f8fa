// This machine as a host file.
#include "estimator/app/cli/measure_host.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"
#include "tests/support/run_plimsoll.h"

using namespace plimsoll;
using namespace plimsoll::test;

TEST_CASE("a measured host is a host file") {
  const Scratch scratch;
  const std::string file =
      scratch.write("h.json", cli::host_file({.cpu = "A \"CPU\"",
                                              .cores = 6,
                                              .memory_bytes = int64_t{16} << 30,
                                              .single_thread = 1.234,
                                              .sum_bytes_per_second = 9e9,
                                              .message_bytes_per_second = 3e9}));
  const auto host = Hwdb::open()->host(file);
  REQUIRE_MESSAGE(host, host.error().front().message);
  CHECK(host->name == "A \"CPU\"");
  CHECK(host->cores == 6);
  CHECK(host->single_thread == doctest::Approx(1.23));
  CHECK(host->gradient_sum.value == 9e9);
  CHECK(host->messages.value == 3e9);
  CHECK(host->find("pytorch", Version{{2, 1}}) != nullptr);  // of the unknown host
}

TEST_CASE("cli hosts: --measure writes a file that --host takes, and overwrites none unasked") {
  if (skipped()) return;
  const Scratch scratch;
  const RunOptions here{
      .folder = scratch.path(""), .address_space = rlim_t{8} << 30, .seconds = 60};
  const Ran measured = run_plimsoll({"hosts", "--measure", "mine.json"}, here);
  CHECK(measured.status == 0);
  const Ran answered =
      run_plimsoll({"estimate", "builtin:mlp", "--gpu", "t4", "--host", "mine.json"}, here);
  CHECK(answered.out.starts_with("FITS"));
  CHECK(says(run_plimsoll({"hosts", "--measure", "mine.json"}, here), "[E610]"));
  const std::vector<std::vector<std::string>> kLists = {
      {"--json"}, {"--csv"}, {"--markdown"}, {"dgx-1"}};
  for (const auto& list : kLists) {
    CAPTURE(list[0]);
    const Ran both = run_plimsoll({"hosts", "--measure", "other.json", list[0]}, here);
    CHECK(both.status == 2);
    CHECK(says(both, "[E114]"));
  }
  const auto host = Hwdb::open()->host(scratch.path("mine.json"));
  REQUIRE(host);
  CHECK(host->single_thread.value_or(0) > .1);
  CHECK(host->cores >= 1);
}
