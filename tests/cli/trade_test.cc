// One step under several settings, and what moving bytes takes: what is refused, and how it is
// said.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {

TEST_CASE("cli: a table of GPUs or of scratch memory has a line for each") {
  if (skipped()) return;
  const std::vector<std::string> alexnet = {"estimate", "builtin:alexnet", "--gpu", "gtx-titan-x"};
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> words = alexnet;
    words.insert(words.end(), more.begin(), more.end());
    return run_plimsoll(words);
  };
  const Ran gpus = with({"--gpus", "2..4", "--link", "pcie-3-x16"});
  CHECK(gpus.status == 0);
  for (const char* row : {"\n   2  ", "\n   3  ", "\n   4  "}) CHECK(says(gpus.out, row));
  CHECK(gpus.out.starts_with("builtin:alexnet, batch 32 per GPU, on gtx-titan-x\n"));
  const Ran knees = with({"--framework", "torch7", "--workspace-limit", "sweep"});
  CHECK(knees.status == 0);
  CHECK(knees.out.starts_with("builtin:alexnet, batch 32, on gtx-titan-x\n\nworkspace limit"));
  CHECK(with({"--gpus", "4..2"}).status == 2);
  CHECK(with({"--gpus", "2..many"}).status == 2);
  CHECK(with({"--workspace-limit", "swept"}).status == 2);
  CHECK(says(with({"--nodes", "2"}), "--network ID"));
  CHECK(says(with({"--exchange", "tre", "--gpus", "2"}), "did you mean tree?"));
  CHECK(says(with({"--exchange", "tree"}), "--exchange has no effect"));
  CHECK(says(with({"--network", "ethernet-10g"}), "--network has no effect"));
}

TEST_CASE("cli: links says what moving bytes takes, over one or two of them") {
  if (skipped()) return;
  const Ran two = run_plimsoll({"links", "pcie-3-x16", "nvlink-2", "--bytes", "250MB"});
  CHECK(two.status == 0);
  CHECK(two.out.find("nvlink-2") != std::string::npos);
  CHECK(two.out.find("exchange: ring") != std::string::npos);
  const Ran many = run_plimsoll({"links", "pcie-3-x16", "--bytes", "1GB", "--gpus", "64"});
  CHECK(many.out.find("not measured with more than 8 GPUs") != std::string::npos);
  CHECK(says(run_plimsoll({"links", "--bytes", "250MB"}), "over which link"));
  CHECK(says(run_plimsoll({"links", "pcie-3-x16", "nvlink-2"}), "how much"));
  CHECK(run_plimsoll({"links", "pcie-3-x16", "--bytes", "250"}).status == 2);
  CHECK(run_plimsoll({"links", "pcie-3-x16", "--bytes", "250MB", "--gpus", "1"}).status == 2);
}

}  // namespace plimsoll::test
