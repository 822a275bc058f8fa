// `plimsoll sweep --out` and `--resume`: what a sweep that was ended leaves, and goes on with.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

constexpr const char* kLoggedPlan =
    "model: builtin:squeezenet1_0\n"
    "parameters: {batch: {min: 1, max: 60}, gpu: [t4, p4000], optimizer: [sgd, adam]}\n";
constexpr int kRecords = 60 * 2 * 2;

class SweepFolder {
 public:
  SweepFolder() { scratch_.write("p.yaml", kLoggedPlan); }
  Ran sweep(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"sweep", "p.yaml"});
    return run_plimsoll(std::move(flags), {.folder = scratch_.path("")});
  }
  // Whether a sweep was at work when it was killed, after so many milliseconds.
  bool killed(const std::string& flags, int milliseconds) const {
    constexpr int kKilled = 128 + 9;
    // In the foreground, timeout waits for whom it kills, who holds the file until then.
    const std::string command =
        fmt::format("cd {} && timeout --foreground -s KILL {} {} sweep p.yaml {} > out 2> err",
                    scratch_.path(""), 0.001 * milliseconds, plimsoll_binary(), flags);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == kKilled;
  }
  std::string text(const std::string& name) const { return detail::text_of(scratch_.path(name)); }
  void write(const std::string& name, const std::string& text) const { scratch_.write(name, text); }
  std::string path(const std::string& name) const { return scratch_.path(name); }

 private:
  Scratch scratch_;
};

// Twenty, or as many as whoever tries it by hand asks for.
int kills() {
  const char* asked = std::getenv("PLIMSOLL_KILLS");
  return asked ? std::atoi(asked) : 20;
}

// Without the first line, which tells what they are of.
std::string records_of(const std::string& text) {
  CHECK(text.starts_with(R"({"schema":"plimsoll.sweep-log","version":1,)"));
  return text.substr(text.find('\n') + 1);
}

std::string without_duration(const std::string& text) {
  const size_t at = text.find("\"seconds\"");
  return text.substr(0, at) + text.substr(std::min(text.find('}', at), text.size()));
}

}  // namespace

TEST_CASE("cli sweep: killed at twenty points and resumed, nothing is lost or doubled") {
  if (skipped()) return;
  const SweepFolder folder;
  const Ran whole = folder.sweep({"--json", "--out", "whole.jsonl"});
  REQUIRE(whole.status == 0);
  CHECK(std::ranges::count(records_of(folder.text("whole.jsonl")), '\n') == kRecords);
  CHECK(whole.out.starts_with(records_of(folder.text("whole.jsonl"))));
  std::mt19937 chance(4);
  int killed = 0;
  folder.write("r.jsonl", "");
  for (int i = 0; i < kills(); ++i) {
    if (folder.killed("--resume r.jsonl", static_cast<int>(10 + chance() % 150))) {
      ++killed;
      // What a write that was cut off leaves.
      if (i % 2 == 0)
        folder.write("r.jsonl", folder.text("r.jsonl") + R"({"configuration":3,"par)");
    } else if (i + 1 < kills()) {
      // It came to its end: the next one begins anew.
      CHECK(folder.text("r.jsonl") == folder.text("whole.jsonl"));
      folder.write("r.jsonl", "");
    }
  }
  // Killed when it had written all that it had to, and in the midst of a line: nothing is added.
  folder.write("all.jsonl", folder.text("whole.jsonl") + R"({"configuration":3,"par)");
  CHECK(folder.sweep({"--resume", "all.jsonl"}).status == 0);
  CHECK(folder.text("all.jsonl") == folder.text("whole.jsonl"));
  MESSAGE(killed << " of " << kills() << " sweeps were killed at work");
  CHECK(killed > 0);
  const Ran last = folder.sweep({"--json", "--resume", "r.jsonl"});
  CAPTURE(last.err);
  CHECK(last.status == 0);
  CHECK(folder.text("r.jsonl") == folder.text("whole.jsonl"));
  CHECK(without_duration(last.out) == without_duration(whole.out));
}

TEST_CASE("cli sweep: the number of threads changes nothing that is written") {
  if (skipped()) return;
  const SweepFolder folder;
  const Ran one = folder.sweep({"--json", "--threads", "1"});
  for (const char* threads : {"2", "5"}) {
    const Ran many = folder.sweep({"--json", "--threads", threads});
    CHECK(without_duration(many.out) == without_duration(one.out));
    CHECK(many.err == one.err);
  }
}

TEST_CASE("cli sweep: parts that follow each other are the whole") {
  if (skipped()) return;
  const SweepFolder folder;
  REQUIRE(folder.sweep({"--count-only", "--out", "whole.jsonl"}).status == 0);
  for (const int parts : {2, 3, 9}) {
    std::string all;
    for (int part = 1; part <= parts; ++part) {
      const Ran ran = folder.sweep({"--json", "--shard", fmt::format("{}/{}", part, parts)});
      CHECK(ran.status <= 1);  // a part may be empty
      all += ran.out.substr(0, ran.out.rfind('\n', ran.out.size() - 2) + 1);
    }
    CHECK(all == records_of(folder.text("whole.jsonl")));
  }
  for (const char* none : {"0/2", "3/2", "2", "/", "a/b", "1/2/3"})
    CHECK(folder.sweep({"--shard", none}).status == 2);
}

TEST_CASE("cli sweep: a file that is there, or another sweep's, is not gone on with by mistake") {
  if (skipped()) return;
  const SweepFolder folder;
  REQUIRE(folder.sweep({"--count-only", "--out", "a.jsonl"}).status == 0);
  const std::string before = folder.text("a.jsonl");
  const Ran again = folder.sweep({"--out", "a.jsonl"});
  CHECK(again.status == 4);
  CHECK(says(again, "--resume a.jsonl"));
  const Ran other = folder.sweep({"--precision", "amp-fp16", "--resume", "a.jsonl"});
  CHECK(other.status == 3);
  CHECK(says(other, "[E322]"));
  CHECK(folder.text("a.jsonl") == before);
  folder.write("b.jsonl", "{\"a\":1}\n");
  const Ran none = folder.sweep({"--resume", "b.jsonl"});
  CHECK(none.status == 3);
  CHECK(says(none, "b.jsonl:1"));
  CHECK(says(none, "[E321]"));
  CHECK(folder.sweep({"--out", "c.jsonl", "--resume", "a.jsonl"}).status == 2);
  CHECK(folder.sweep({"--progress", "sometimes"}).status == 2);
  CHECK(folder.sweep({"--threads", "0"}).status == 2);
}

TEST_CASE("cli sweep: a user's file is left as it is") {
  if (skipped()) return;
  const SweepFolder folder;
  for (const char* text : {"notes of a user\nthe last line has no newline", "one line",
                           "{\"a\":1}\nb", "{\"configuration\": what a user wrote\n"}) {
    CAPTURE(text);
    folder.write("notes.txt", text);
    const Ran ran = folder.sweep({"--resume", "notes.txt"});
    CHECK(ran.status == 3);
    CHECK(says(ran, "[E321]"));
    CHECK(folder.text("notes.txt") == text);
  }
  REQUIRE(folder.sweep({"--count-only", "--out", "a.jsonl"}).status == 0);
  const std::string before = folder.text("a.jsonl");
  REQUIRE(::link(folder.path("a.jsonl").c_str(), folder.path("hard").c_str()) == 0);
  CHECK(folder.sweep({"--resume", "hard"}).status == 4);
  REQUIRE(::symlink("a.jsonl", folder.path("soft").c_str()) == 0);
  CHECK(folder.sweep({"--resume", "soft"}).status == 4);
  CHECK(folder.sweep({"--html", "b.html", "--out", "./b.html", "--force"}).status == 2);
  CHECK(folder.sweep({"--html", "p.yaml", "--force"}).status == 2);
  CHECK(folder.text("a.jsonl") == before);
  CHECK(folder.text("p.yaml") == kLoggedPlan);
}

TEST_CASE("cli sweep: answers are believed only where all that they rest on is the same") {
  if (skipped()) return;
  const SweepFolder folder;
  const auto model = [](int out) {
    return fmt::format(
        R"({{"schema": "plimsoll.model-config", "version": 1, "name": "n", "parameters": {{"batch": 8}},
            "inputs": [{{"name": "x", "shape": ["batch", 64]}}],
            "layers": [{{"name": "l", "type": "linear", "out": {}}}], "loss": "sum"}})",
        out);
  };
  constexpr const char* kTwoModels =
      "model: [a.json, b.json]\nparameters: {gpu: [t4], batch: [8, 16]}\n";
  folder.write("p.yaml", kTwoModels);
  folder.write("a.json", model(64));
  folder.write("b.json", model(128));
  REQUIRE(folder.sweep({"--out", "s.jsonl"}).status == 0);
  const std::string before = folder.text("s.jsonl");
  CHECK(folder.sweep({"--resume", "s.jsonl"}).status == 0);
  const auto refused = [&](std::vector<std::string> flags, const char* why) {
    flags.insert(flags.end(), {"--resume", "s.jsonl"});
    const Ran ran = folder.sweep(flags);
    CAPTURE(ran.err);
    CHECK(ran.status == 3);
    CHECK(says(ran, "[E322]"));
    CHECK(says(ran, why));
    CHECK(folder.text("s.jsonl") == before);
  };
  folder.write("a.json", model(60'000'000));
  refused({}, "the model a.json changed");
  folder.write("a.json", model(64));
  folder.write("p.yaml", std::string(kTwoModels) + "# another\n");
  refused({}, "the plan changed");
  folder.write("p.yaml", kTwoModels);
  refused({"--precision", "amp-fp16"}, "the options changed");
  refused({"--memory-only"}, "the options changed");
  std::filesystem::create_directories(folder.path("own/devices"));
  folder.write("own/devices/another.json", "{}");
  refused({"--hwdb", "own"}, "the data of GPUs and frameworks");
  CHECK(folder.sweep({"--resume", "s.jsonl"}).status == 0);
  CHECK(folder.text("s.jsonl") == before);
}
