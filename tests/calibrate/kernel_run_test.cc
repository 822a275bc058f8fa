#include "calibrate/kernel_run.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>

#include "graph/base/json_lines_file.h"
#include "tests/calibrate/fake_card.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;
using test::conv_kernel, test::FakeCard;

namespace {

KernelRunPlan plan_of(int kernels, std::string out) {
  KernelRunPlan plan;
  for (int n = 1; n <= kernels; ++n) {
    plan.kernels.push_back({n % 3 == 0 ? test::rows_kernel("relu", n, 64, 1) : conv_kernel(n)});
  }
  plan.kernels.push_back(plan.kernels.front());  // once more: run once
  plan.device = "h100-sxm-80gb";
  plan.figures = true;
  plan.out = std::move(out);
  plan.resume = true;
  return plan;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("kernel run: a record for each kernel, read back as it was") {
  const test::Scratch scratch;
  FakeCard card;
  card.unknown = [](const KernelAt& k) { return k.kernel_class == KernelClass::kPointwise; };
  KernelRunPlan plan = plan_of(6, scratch.path("out.jsonl"));
  plan.kernels.push_back({conv_kernel(99), "the framework's own"});
  const auto run = run_kernels(card, plan);
  REQUIRE(run);
  CHECK(run->records.size() == 7);
  CHECK(run->figures.size() == 5);
  CHECK(run->records[2].timing.skipped == "no library runs it");
  CHECK(run->records[6].timing.skipped == "the framework's own");
  const auto file = JsonLinesFile::open(plan.out, {.begins = {R"({"kind":)"}});
  REQUIRE(file);
  REQUIRE(file->lines().size() == 12);
  CHECK(read_run_line(file->lines()[0], "")->figure == run->figures[0]);
  for (size_t i = 0; i < 7; ++i) {
    const auto line = read_run_line(file->lines()[i + 5], "a line");
    REQUIRE(line);
    REQUIRE(line->kernel);
    CHECK(line->kernel->key == run->records[i].key);
    CHECK(line->kernel->cudnn == "9.10.2");
    const KernelTiming &read = line->kernel->timing, &ran = run->records[i].timing;
    CHECK(read.taken == ran.taken);
    CHECK(read.skipped == ran.skipped);
    REQUIRE(read.offers.size() == ran.offers.size());
    for (size_t j = 0; j < read.offers.size(); ++j) {
      CHECK(read.offers[j].offer == ran.offers[j].offer);
      CHECK(read.offers[j].seconds == doctest::Approx(ran.offers[j].seconds).epsilon(1e-12));
      CHECK(read.offers[j].state == ran.offers[j].state);
    }
  }
}

TEST_CASE(
    "kernel run: what a file has is not run again; others' records stay; unasked it is kept") {
  const test::Scratch scratch;
  KernelRunPlan plan = plan_of(5, scratch.path("out.jsonl"));
  FakeCard card;
  REQUIRE(run_kernels(card, plan));
  const std::string whole = file_text(plan.out);
  const int timed = card.timed;
  const auto again = run_kernels(card, plan);
  REQUIRE(again);
  CHECK(again->known == 5);
  CHECK(card.timed == timed);
  CHECK(file_text(plan.out) == whole);
  plan.device = "tesla-t4";
  CHECK(run_kernels(card, plan)->known == 0);
  CHECK(file_text(plan.out).size() > 2 * whole.size() - 200);
  CHECK(file_text(plan.out).starts_with(whole));
  plan.resume = false;
  CHECK(run_kernels(card, plan).error()[0].code == "E726");
}

TEST_CASE("kernel run: stopped between kernels, it goes on where it was") {
  const test::Scratch scratch;
  const KernelRunPlan plan = plan_of(8, scratch.path("out.jsonl"));
  FakeCard card;
  size_t done = 0;
  const KernelRunHooks hooks{.progress = [&](size_t n, size_t, double) { done = n; },
                             .stop = [&] { return done == 3; }};
  const auto stopped = run_kernels(card, plan, hooks);
  REQUIRE(stopped);
  CHECK(stopped->stopped);
  CHECK(stopped->records.size() == 3);
  const auto rest = run_kernels(card, plan);
  CHECK(rest->known == 3);
  CHECK(rest->records.size() == 8);
  CHECK_FALSE(rest->stopped);
}

TEST_CASE(
    "kernel run: killed at fifty random records and gone on with, nothing is lost or doubled") {
  constexpr int kPlanned = 200, kKills = 50;
  const test::Scratch scratch;
  const KernelRunPlan whole = plan_of(kPlanned, scratch.path("whole.jsonl"));
  FakeCard uninterrupted;
  REQUIRE(run_kernels(uninterrupted, whole));
  const KernelRunPlan plan = plan_of(kPlanned, scratch.path("killed.jsonl"));
  std::mt19937 chance(1);
  int killed = 0;
  for (int i = 0; i < kKills; ++i) {
    const size_t after = 1 + chance() % 4;
    const pid_t child = ::fork();
    if (child == 0) {
      FakeCard card;
      size_t records = 0;
      const KernelRunHooks hooks{.progress = [&](size_t, size_t, double) {
        if (++records == after) ::raise(SIGKILL);
      }};
      static_cast<void>(run_kernels(card, plan, hooks));
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    // What a write that was cut off leaves.
    if (i % 2 == 0) std::ofstream(plan.out, std::ios::app) << R"({"kind":"kernel","dev)";
  }
  CHECK(killed == kKills);
  FakeCard last;
  const auto done = run_kernels(last, plan);
  REQUIRE(done);
  CHECK(done->records.size() == kPlanned);
  CHECK(file_text(plan.out) == file_text(whole.out));
}
