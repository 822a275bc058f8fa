#include "calibrate/machine_facts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "calibrate/kernel_run.h"
#include "estimator/app/explain/predicted_kernels.h"
#include "estimator/library/workspace/asked.h"
#include "hwdb/measured/source.h"
#include "tests/calibrate/fake_card.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;

namespace {

// A T4 that lists what the tests' card does, run on a model, its records read as fit reads them.
Machine machine_of(const Request& request, const Hwdb& hwdb) {
  const auto step = predicted_kernels(request, hwdb);
  REQUIRE(step);
  const test::Scratch scratch;
  KernelRunPlan plan;
  for (const PredictedKernel& k : step->kernels) plan.kernels.push_back({k.kernel});
  plan.device = "tesla-t4";
  plan.out = scratch.path("records.jsonl");
  plan.figures = true;
  test::FakeCard card;
  card.clock = [](int, int) { return 1.485e9; };
  REQUIRE(run_kernels(card, plan));
  const auto sources = MeasuredSources::open(hwdb, false);
  REQUIRE(sources);
  MachineFacts facts;
  REQUIRE(read_runs(plan.out, *sources, [&](MeasuredRun&& run) { CHECK(facts.add(run)); }));
  Machine machine{.gpu = "tesla-t4", .source = "a test", .factors = {}};
  facts.complete(machine, machine.gpu);
  return machine;
}

bool says(const Estimate& estimate, const std::string& words) {
  return std::ranges::any_of(
      estimate.basis, [&](const std::string& line) { return line.find(words) != line.npos; });
}

}  // namespace

TEST_CASE("machine facts: what a run told stands in the file, and the estimate uses it") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  Request request = test::request("builtin:vgg16", "tesla-t4", 8);
  const Machine machine = machine_of(request, *hwdb);
  CHECK(machine.clock == 1.485e9);
  CHECK(machine.workspaces.size() == 26);
  CHECK(machine.host.find("50.00 GB/s") != std::string::npos);
  CHECK(machine.host.find(R"("per_launch":"2.00 us")") != std::string::npos);
  CHECK(machine.host.find(R"("cores":{"value":24)") != std::string::npos);
  CHECK(machine.context_bytes == 300 << 20);
  const auto read = read_machine(write_machine(machine), "machine.json");
  REQUIRE(read);
  CHECK(*read == machine);

  const auto plain = estimate(request, *hwdb);
  REQUIRE(plain);
  CHECK(plain->memory.workspace_bytes > 5000);
  std::string lines;
  for (const std::string& line : machine.workspaces) lines += line + "\n";
  auto listed = AskedWorkspaces::read(lines, "machine.json");
  REQUIRE(listed);
  CHECK(listed->on_card());
  request.machine = machine;
  request.listed = std::make_shared<const AskedWorkspaces>(std::move(*listed));
  const auto here = estimate(request, *hwdb);
  REQUIRE(here);
  // Of the first plan that the tests' card lists.
  CHECK(here->memory.workspace_bytes == 100);
  CHECK(says(*here, "26 of 26 convolutions as listed by cuDNN 9.10.2 on this GPU"));
  CHECK(says(*here, "this GPU ran at 1485 MHz"));
  CHECK(here->time.host_id == "measured");
  // A T4's 40 multiprocessors of 1024 threads are taken to hold 2 KiB for each without the file.
  CHECK(here->memory.context_bytes - plain->memory.context_bytes == (300 - 80) << 20);
  CHECK(says(*here, "of it, 300 MiB of the driver were measured on this GPU"));
  // Of another version of cuDNN, or of another card, it says nothing.
  request.cudnn = "8.9";
  CHECK_FALSE(says(*estimate(request, *hwdb), "as listed by"));
  request.cudnn.reset();
  request.devices = {"tesla-p4"};
  const auto other = estimate(request, *hwdb);
  CHECK_FALSE(says(*other, "as listed by"));
  CHECK_FALSE(says(*other, "this GPU ran"));
}

TEST_CASE(
    "machine facts: records of other programs have none; offers of another form are refused") {
  MachineFacts facts;
  MeasuredRun run;
  run.kind = RunKind::kKernel;
  run.op = "conv";
  CHECK(facts.add(run));
  Machine machine;
  facts.complete(machine, "tesla-t4");
  CHECK(machine == Machine{});
  run.notes.push_back({"offers", 1, 1, JsonValue{1, 1, std::string("none")}});
  CHECK_FALSE(facts.add(run));
}
