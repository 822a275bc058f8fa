// The machine's own card: a made-up nvidia-smi on the PATH stands for the driver's.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

const std::string kLocalNet = "builtin:squeezenet1_0";

// A folder with an nvidia-smi that runs `script`.
struct Driver {
  Scratch scratch;
  explicit Driver(const std::string& script) {
    const std::string path = scratch.write("nvidia-smi", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  Ran run(std::vector<std::string> arguments, RunOptions options = {}) const {
    options.environment.push_back("PATH=" + scratch.path(""));
    return run_plimsoll(std::move(arguments), std::move(options));
  }
  // Of an estimate, with --gpu where one is given.
  Ran estimate(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"estimate", kLocalNet});
    return run(std::move(more));
  }
};

}  // namespace

TEST_CASE("local: the machine's card, its driver and what is free of it, named or not") {
  if (skipped()) return;
  // cat is no builtin of the shell: the driver's folder is the whole PATH.
  const Driver driver("echo 'NVIDIA A100-SXM4-40GB, 535.104.05, 40960, 30000, Disabled, 8.0'");
  for (const auto& gpu : {std::vector<std::string>{}, {"--gpu", "local"}}) {
    std::vector<std::string> arguments = {"--wide", "--basis"};
    arguments.insert(arguments.end(), gpu.begin(), gpu.end());
    const Ran ran = driver.estimate(arguments);
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    CHECK(says(ran.out, "of 29.3 GiB"));
    CHECK(says(ran.out, "(a100-sxm-40gb)"));
    CHECK(
        says(ran.out,
             "this machine's NVIDIA A100-SXM4-40GB, driver 535.104.05: 29.3 GiB of 40.0 GiB free"));
  }
  const Ran asked = driver.estimate({"--gpu", "l4"});
  CHECK(says(asked.out, "(l4)"));
  CHECK_FALSE(says(asked.out, "this machine's"));
  CHECK(says(driver.estimate({"--mem", "10GiB"}).out, "of 10.0 GiB"));
}

TEST_CASE("local: every verb that asks for a GPU takes it") {
  if (skipped()) return;
  const Driver driver("echo 'Tesla T4, 535.104.05, 15360, 15100'");
  CHECK(says(driver.run({"max-batch", kLocalNet, "--max", "8"}).out, "SAFE 8"));
  CHECK(says(driver.run({"compare", kLocalNet, "--gpu", "l4", "--gpu", "local"}).out, "tesla-t4"));
  CHECK(says(driver.run({"explain", "features.0", kLocalNet}).out, "features.0"));
  CHECK(driver.run({"workspace", "--gpu", "local"}).status == 0);
  CHECK(says(driver.run({"gpus", "local"}).out, "tesla-t4"));
  CHECK(says(driver.run({"gpus", "local", "--file"}).out, "\"id\": \"tesla-t4\""));
  const Scratch scratch;
  const std::string plan =
      scratch.write("p.yaml", "model: builtin:mlp\nparameters:\n  batch: [1]\n");
  CHECK(says(driver.run({"sweep", plan, "--json"}).out, "tesla-t4"));
  const std::string named =
      scratch.write("q.yaml", "model: builtin:mlp\nparameters: {gpu: [local, l4], batch: [1]}\n");
  CHECK(says(driver.run({"sweep", named, "--json"}).out, "tesla-t4"));
}

TEST_CASE("local: cards that share a name are told apart by their memory") {
  if (skipped()) return;
  const Driver large("echo 'NVIDIA GeForce RTX 3080, 550.54, 12288, 11000, [N/A], 8.6'");
  CHECK(says(large.estimate().out, "(rtx-3080-12gb)"));
  const Driver small("echo 'NVIDIA GeForce RTX 3080, 550.54, 10240, 9000, [N/A], 8.6'");
  CHECK(says(small.estimate().out, "(rtx-3080)"));
}

// Rows C9 and C11 of the catalogue of bad inputs.
TEST_CASE("local: a card without a file, a part of one, a virtual one, several") {
  if (skipped()) return;
  const Ran unknown = Driver("echo 'NVIDIA RTX 9999, 600.1, 20000, 19000, [N/A], 8.9'").estimate();
  CHECK(unknown.status == 0);
  CHECK(says(unknown.err, "[W404]"));
  CHECK(says(unknown.out, "of 18.6 GiB"));
  CHECK(Driver("echo 'NVIDIA RTX 9999, 600.1, 20000, 19000, [N/A], 8.9'")
            .estimate({"--strict"})
            .status == 3);
  const Ran begun = Driver("echo 'NVIDIA RTX 9999, 600.1, 20000, 19000, [N/A], 8.9'")
                        .run({"gpus", "local", "--file"});
  CHECK(says(begun.out, "\"names\": [\"NVIDIA RTX 9999\"]"));
  const Scratch scratch;
  const std::string own = scratch.write("my-gpu.json", begun.out);
  const Ran estimated = run_plimsoll({"estimate", kLocalNet, "--gpu", own});
  CHECK(estimated.status == 0);
  CHECK(says(estimated.out, "of 19.5 GiB"));
  CHECK(says(estimated.out, "NVIDIA RTX 9999 (my-gpu)"));
  const Ran strange = Driver("echo 'Strange, 600.1, 20000, 19000'").estimate();
  CHECK(strange.status == 2);
  CHECK(says(strange.err, "[E140]"));
  const Driver part(
      "case \"$1\" in -L) echo 'GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)'; "
      "echo '  MIG 3g.20gb     Device  0: (UUID: MIG-1)'; "
      "echo '  MIG 3g.20gb     Device  1: (UUID: MIG-2)';; "
      "*) echo 'NVIDIA A100-SXM4-40GB, 550.1, 40960, 40000, Enabled, 8.0';; esac");
  CHECK(says(part.estimate().out, "(a100-sxm-40gb:3g.20gb)"));
  CHECK(says(part.estimate().out, "of 19.6 GiB"));
  const Ran parts =
      Driver(
          "case \"$1\" in -L) echo '  MIG 3g.20gb Device 0:'; echo '  MIG 1g.5gb Device 1:';; "
          "*) echo 'NVIDIA A100-SXM4-40GB, 550.1, 40960, 40000, Enabled, 8.0';; esac")
          .estimate();
  CHECK(parts.status == 2);
  CHECK(says(parts.err, "[E146]"));
  CHECK(says(Driver("echo 'GRID T4-8Q, 535.1, 8192, 8000, [N/A], 7.5'").estimate().out,
             "(tesla-t4)"));
  const Ran several =
      Driver("echo 'Tesla T4, 535.1, 15360, 15000'; echo 'NVIDIA L4, 535.1, 23034, 22000'")
          .estimate();
  CHECK(several.status == 2);
  CHECK(says(several.err, "different GPUs: Tesla T4, NVIDIA L4"));
  const Ran equal =
      Driver("echo 'Tesla T4, 535.1, 15360, 15000'; echo 'Tesla T4, 535.1, 15360, 9000'")
          .estimate({"--basis"});
  CHECK(equal.status == 0);
  CHECK(says(equal.out, "the first of 2"));
}

TEST_CASE("local: without nvidia-smi, or where it fails, a GPU must be named") {
  if (skipped()) return;
  const Scratch nothing;
  for (const std::string& path : {"PATH=" + nothing.path(""), std::string("PATH="),
                                  std::string("PATH=.:relative"), std::string("HOME=/")}) {
    CAPTURE(path);
    const Ran ran = run_plimsoll({"estimate", kLocalNet}, {.environment = {path}});
    CHECK(ran.status == 2);
    CHECK(says(ran.err, "[E109]"));
    CHECK(says(run_plimsoll({"estimate", kLocalNet, "--gpu", "local"}, {.environment = {path}}).err,
               "no nvidia-smi on the PATH; give --gpu ID [E727]"));
  }
  const std::pair<const char*, const char*> kBroken[] = {
      {"echo 'NVIDIA-SMI has failed because it could not reach the driver.'; exit 9",
       "could not reach the driver"},
      {"exit 1", "it fails"},
      {"echo 'No devices were found'", "No devices were found"},
      {"true", "it lists none"},
      {"printf 'a\\033[2Jb\\n'; exit 3", "\\x1b[2J"},
      {"kill -9 $$", "it fails"},
  };
  for (const auto& broken : kBroken) {
    const std::string script = broken.first;
    CAPTURE(script);
    const Ran ran = Driver(script).estimate();
    CHECK(ran.status == 4);
    CHECK(says(ran.err, "[E727]"));
    CHECK(says(ran.err, broken.second));
  }
}

TEST_CASE("local: an older driver is asked for less; what it does not report is said") {
  if (skipped()) return;
  const Driver older(
      "case \"$1\" in *compute_cap*) echo 'Field \"compute_cap\" is not a valid field to query.'; "
      "exit 2;; *) echo 'Tesla K80, 410.48, 11441, [N/A]';; esac");
  const Ran ran = older.estimate({"--wide", "--basis"});
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "an unreported amount of 11.2 GiB free"));
  CHECK(says(ran.out, "of 11.2 GiB"));
}

TEST_CASE("local: endless or silent answers end") {
  if (skipped()) return;
  const Ran endless = Driver("while :; do echo 'Tesla T4, 1, 2, 3'; done").estimate();
  CHECK(endless.status == 4);
  CHECK(says(endless.err, "[E727]"));
  // A shell without PATH has no sleep; reading a terminal that is not there ends at once, so that
  // a busy child stands for a hanging one.
  const Ran hanging = Driver("while :; do :; done").run({"estimate", kLocalNet}, {.seconds = 40});
  CHECK(hanging.status == 4);
  CHECK(says(hanging.err, "no answer in 10 s"));
}

TEST_CASE("local: a card that others have filled has nothing left, and nothing fits") {
  if (skipped()) return;
  const Driver full("echo 'Tesla T4, 535.1, 15360, 0, [N/A], 7.5'");
  const Ran ran = full.estimate();
  CHECK(ran.status == 1);
  CHECK(says(ran.out, "DOES NOT FIT"));
  CHECK(says(ran.out, "of 0 B"));
  const Ran json = full.estimate({"--json"});
  CHECK(json.status == 1);
  CHECK(says(json.out, "\"verdict\": \"does_not_fit\""));
  CHECK(says(json.out, "\"usable_bytes\": 0"));
  CHECK(full.run({"max-batch", kLocalNet}).status == 1);
  CHECK(full.run({"compare", kLocalNet}).status == 1);
}

TEST_CASE("local: what a silent answer has started ends with it") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string pid = scratch.path("pid");
  const Driver driver("/bin/sleep 60 & echo $! > " + pid + "; wait");
  const Ran ran = driver.run({"estimate", kLocalNet}, {.seconds = 40});
  CHECK(ran.status == 4);
  const std::string child = detail::text_of(pid);
  REQUIRE(!child.empty());
  // Gone, or dead and not yet waited for.
  const std::string state = detail::text_of("/proc/" + std::to_string(std::stoi(child)) + "/stat");
  CHECK((state.empty() || says(state, ") Z ")));
}

TEST_CASE("local: cards of one name that their memory does not tell apart") {
  if (skipped()) return;
  // A desktop's and a laptop's.
  const Driver alike("echo 'NVIDIA GeForce RTX 2060, 535.104.05, 6144, 6000'");
  const Ran one = alike.estimate({});
  CHECK(says(one.err, "\"NVIDIA GeForce RTX 2060\" with this memory may also be rtx-2060-laptop"));
  CHECK(says(one.err, "[W405]"));
  // The driver of a Jetson tells no memory.
  const Driver module("echo 'Orin (nvgpu), 540.4.0, [N/A], [N/A]'");
  const Ran none = module.estimate({});
  CHECK(none.status == 2);
  CHECK(says(none.err, "jetson-orin-nx-16gb [E141]"));
}

// Row F11.
TEST_CASE("local: PLIMSOLL_GPU stands where no --gpu is given; empty, it is not set") {
  if (skipped()) return;
  const auto with = [](const std::string& value, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"estimate", kLocalNet});
    return run_plimsoll(std::move(more), {.environment = {"PLIMSOLL_GPU=" + value}});
  };
  CHECK(says(with("l4").out, "(l4)"));
  CHECK(says(with("NVIDIA A100-SXM4-40GB").out, "(a100-sxm-40gb)"));
  CHECK(says(with("l4", {"--gpu", "t4"}).out, "(tesla-t4)"));
  CHECK(says(with("").err, "[E109]"));
  const Ran unknown = with("l5");
  CHECK(unknown.status == 2);
  CHECK(says(unknown.err, "PLIMSOLL_GPU: unknown GPU \"l5\" [E140]"));
  CHECK(says(with("local").err, "no nvidia-smi on the PATH"));
}
