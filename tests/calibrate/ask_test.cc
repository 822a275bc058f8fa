// `plimsoll-calibrate ask` as a program, with a library that stands for cuDNN.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "calibrate/ask.h"
#include "tests/calibrate/calibrate_program.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

// A folder as PLIMSOLL_CUDNN names one, and what the fake is to do.
struct Library {
  Scratch scratch;
  Library() {
#ifdef PLIMSOLL_FAKE_CUDNN
    std::filesystem::create_directory(scratch.path("lib"));
    for (const char* name : {"lib/libcudnn.so.9", "lib/libcublasLt.so.12"})
      std::filesystem::create_symlink(PLIMSOLL_FAKE_CUDNN, scratch.path(name));
#endif
  }
  std::vector<std::string> environment(std::vector<std::string> more = {}) const {
    more.push_back("PLIMSOLL_CUDNN=" + scratch.path(""));
    return more;
  }
};

bool cannot_ask() {
#ifdef PLIMSOLL_FAKE_CUDNN
  return !has_calibrate();
#else
  not_run("built without cuDNN's headers");
  return true;
#endif
}

// Convolutions told apart by their batch, from 1 on.
std::string problems(int count) {
  std::string lines;
  for (int n = 1; n <= count; ++n) {
    const json line = {{"pass", "fprop"}, {"n", n}, {"c", 8}, {"h", 8},
                       {"w", 8},          {"k", 8}, {"r", 3}, {"s", 3}};
    lines += line.dump() + "\n";
  }
  return lines;
}

std::vector<json> records(const std::string& path) {
  std::vector<json> all;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
  return all;
}

}  // namespace

TEST_CASE("ask: a line for each distinct question, with the contract's fields") {
  if (cannot_ask()) return;
  const Library library;
  const Scratch scratch;
  const std::string in = scratch.write("in.jsonl", problems(3) + problems(2));
  const std::string out = scratch.path("out.jsonl");
  const Ran ran = run_calibrate({"ask", "--gpu", "titan-xp", "--problems", in, "--out", out},
                                library.environment());
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(says(ran.out, "cuDNN 9.10.2, "));
  CHECK(says(ran.out, "cuBLASLt 12.1.3, "));
  CHECK(says(ran.out, "3 queries"));
  const auto all = records(out);
  REQUIRE(all.size() == 3);
  CHECK(all[2]["n"] == 3);
  CHECK(all[2]["dtype"] == "fp32");
  CHECK(all[2]["gpu"] == "titan-xp");
  CHECK(all[2]["cudnn"] == "9.10.2");
  CHECK(all[2]["algorithm"] == "winograd");
  CHECK(all[2]["engine"] == 12);
  CHECK(all[2]["workspace_bytes"] == 3);
  CHECK(all[2]["knobs"]["TILE_SIZE"] == 2);
  CHECK(all[2]["basis"] == "asked");
  REQUIRE(all[2]["alternatives"].size() == 1);
  CHECK(all[2]["alternatives"][0]["engine"] == 0);
  CHECK(all[2]["alternatives"][0]["workspace_bytes"] == 0);
}

TEST_CASE("ask: gone on with; another GPU or version is another answer; a torn end is said") {
  if (cannot_ask()) return;
  const Library library;
  const Scratch scratch;
  const std::string in = scratch.write("in.jsonl", problems(4));
  const std::string out = scratch.path("out.jsonl");
  const auto ask = [&](const char* gpu, std::vector<std::string> more = {}) {
    return run_calibrate({"ask", "--gpu", gpu, "--problems", in, "--out", out},
                         library.environment(std::move(more)));
  };
  CHECK(ask("titan-xp").status == 0);
  CHECK(says(ask("titan-xp").out, "0 queries"));
  std::ofstream(out, std::ios::app) << "{\"pass\":\"fpr";
  const Ran torn = ask("titan-xp");
  CHECK(says(torn.out, "a torn last line of 12 bytes was cut off"));
  CHECK(says(torn.out, "4 were known"));
  CHECK(says(ask("t4").out, "4 queries"));
  CHECK(says(ask("t4", {"FAKE_CUDNN_VERSION=91900"}).out, "4 queries"));
  CHECK(records(out).size() == 12);
}

TEST_CASE("ask: killed at fifty random records and gone on with, it loses and doubles nothing") {
  if (cannot_ask()) return;
  constexpr int kProblems = 400, kKills = 50;
  const Library library;
  const Scratch scratch;
  const std::string in = scratch.write("in.jsonl", problems(kProblems));
  const std::string out = scratch.path("out.jsonl"), program = calibrate_binary();
  std::mt19937 chance(1);
  std::set<size_t> at;
  while (at.size() < kKills) at.insert(1 + chance() % (kProblems - 2));
  const auto lines = [&] {
    std::ifstream file(out, std::ios::binary);
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  };
  for (const size_t record : at) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("PLIMSOLL_CUDNN", library.scratch.path("").c_str(), 1);
      ::setenv("FAKE_CUDNN_MICROSECONDS", "300", 1);
      ::setenv("PATH", "", 1);
      detail::become(1, "/dev/null", O_WRONLY);
      ::execl(program.c_str(), program.c_str(), "ask", "--gpu", "titan-xp", "--problems",
              in.c_str(), "--out", out.c_str(), nullptr);
      ::_exit(127);
    }
    while (lines() < record && ::waitpid(child, nullptr, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  const Ran last = run_calibrate({"ask", "--gpu", "titan-xp", "--problems", in, "--out", out},
                                 library.environment());
  CHECK(last.status == 0);
  std::map<int, int> times;
  for (const json& record : records(out)) {
    ++times[record["n"]];
    CHECK(record["workspace_bytes"] == record["n"]);
  }
  CHECK(times.size() == kProblems);
  for (const auto& record : times) CHECK_MESSAGE(record.second == 1, record.first);
}

TEST_CASE("ask: a crash inside cuDNN is a message; what was answered before it stays") {
  if (cannot_ask()) return;
  const Library library;
  const Scratch scratch;
  const std::string in = scratch.write("in.jsonl", problems(5));
  const std::string out = scratch.path("out.jsonl");
  const Ran ran = run_calibrate({"ask", "--gpu", "b200", "--problems", in, "--out", out},
                                library.environment({"FAKE_CUDNN_CRASH_AT=3"}));
  CHECK(ran.status == 4);
  CHECK(says(ran.err, "[E707]"));
  CHECK(says(ran.err, "cuDNN 9.10.2 crashed (Aborted) at the query 'fprop 3 8 8 8 8 3 3"));
  CHECK(says(ran.err, "b200 (compute capability 10.0)"));
  CHECK(records(out).size() == 2);
}

TEST_CASE("ask: a user's file is left as it is") {
  if (cannot_ask()) return;
  const Library library;
  const Scratch scratch;
  const std::string in = scratch.write("in.jsonl", problems(1));
  for (const char* text : {"notes of a user\nthe last line has no newline", "x", "{\"a\":1}\n"}) {
    CAPTURE(text);
    const std::string out = scratch.write("notes.txt", text);
    const Ran ran = run_calibrate({"ask", "--gpu", "titan-xp", "--problems", in, "--out", out},
                                  library.environment());
    CHECK(ran.status == 3);
    CHECK(detail::text_of(out) == text);
  }
}

TEST_CASE("ask: a library that hangs is ended") {
  if (cannot_ask()) return;
  const Library library;
  const Scratch scratch;
  ::setenv("PLIMSOLL_CUDNN", library.scratch.path("").c_str(), 1);
  ::setenv("FAKE_CUDNN_MICROSECONDS", "30000000", 1);
  const auto hwdb = plimsoll::Hwdb::open();
  REQUIRE(hwdb);
  plimsoll::AskPlan plan;
  plan.device = *hwdb->device("titan-xp");
  plan.questions = {*plimsoll::parse_conv_question(problems(1).substr(0, problems(1).size() - 1),
                                                   "a line", plimsoll::DType::kFloat32)};
  plan.out = scratch.path("out.jsonl");
  plan.longest_answer = std::chrono::milliseconds(500);
  const auto begun = std::chrono::steady_clock::now();
  const auto asked = plimsoll::ask(plan, *hwdb);
  ::unsetenv("PLIMSOLL_CUDNN");
  ::unsetenv("FAKE_CUDNN_MICROSECONDS");
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
  REQUIRE(!asked);
  CHECK(asked.error().front().code == "E707");
  CHECK(asked.error().front().message.find("did not answer, and was ended") != std::string::npos);
}

TEST_CASE("ask: a library that is missing, too old or too new is refused; nothing is written") {
  if (cannot_ask()) return;
  const Library library;
  const Scratch scratch;
  const std::string in = scratch.write("in.jsonl", problems(1));
  const std::string out = scratch.path("out.jsonl");
  const auto refused = [&](const char* gpu, std::vector<std::string> environment,
                           const std::string& code, const std::string& part) {
    const Ran ran = run_calibrate({"ask", "--gpu", gpu, "--problems", in, "--out", out},
                                  std::move(environment));
    CAPTURE(ran.err);
    CHECK(ran.status == 4);
    CHECK(says(ran.err, "[" + code + "]"));
    CHECK(says(ran.err, part));
    CHECK_FALSE(std::filesystem::exists(out));
  };
  refused("titan-xp", library.environment({"FAKE_CUDNN_VERSION=90701"}), "E704",
          "cuDNN 9.7.1 cannot be queried");
  refused("titan-xp", library.environment({"FAKE_CUDNN_VERSION=8902"}), "E704", "cuDNN 8.9.2");
  refused("titan-xp", library.environment({"FAKE_CUDNN_VERSION=91100"}), "E703",
          "cuDNN 9.11.0 no longer knows titan-xp (compute capability 6.1)");
  refused("tesla-v100-sxm2-16gb", library.environment({"FAKE_CUDNN_VERSION=91900"}), "E703",
          "9.10 is the last");
  refused("tesla-k80", library.environment(), "E703", "it does not support compute capability 3.7");
  refused("titan-xp", {"PLIMSOLL_CUDNN=" + scratch.path("")}, "E701", "has no libcudnn.so");
  refused("titan-xp", library.environment({"FAKE_CUDNN_CUDA=99000"}), "E701",
          "cuDNN needs libcublasLt.so.99");
}

TEST_CASE("ask: usage") {
  if (cannot_ask()) return;
  const Scratch scratch;
  const std::string out = scratch.path("out.jsonl");
  CHECK(run_calibrate({"ask", "--gpu", "titan-xp", "--out", out}).status == 2);
  CHECK(run_calibrate({"ask", "--gpu", "nothing", "--problems", out, "--out", out}).status == 2);
  CHECK(run_calibrate({"ask", "--problems", out, "--out", out}).status == 2);
  const Ran help = run_calibrate({"--help"});
  CHECK(help.status == 0);
  CHECK(help.out.starts_with("  plimsoll-calibrate ask --gpu"));
}

TEST_CASE("estimate --ask-cudnn: its convolutions have the workspaces that cuDNN answers") {
  if (cannot_ask()) return;
  const Library library;
  RunOptions options{.environment = library.environment(), .address_space = RLIM_INFINITY};
  const std::vector<std::string> command = {
      "estimate", "builtin:vgg16", "--gpu", "titan-xp", "--batch", "12", "--json", "--ask-cudnn"};
  const Ran ran = run_plimsoll(command, options);
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const json memory = json::parse(ran.out)["result"]["memory"];
  CHECK(memory["workspace_basis"] == "asked");
  CHECK(memory["workspace_bytes"] == 12);
  CHECK(says(ran.out, "convolutions from cuDNN 9.10.2"));
  options.environment.emplace_back("FAKE_CUDNN_CRASH_AT=12");
  const Ran crashed = run_plimsoll(command, options);
  CHECK(crashed.status == 4);
  CHECK(says(crashed.err, "[E708]"));
  CHECK(says(crashed.err, "crashed (Aborted)"));
}
