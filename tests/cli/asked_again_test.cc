// estimate --from: an answer is asked again; flags on the line win.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("cli: an answer is asked again, from its JSON and its page") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string answer = scratch.path("answer.json"), page = scratch.path("answer.html");
  const Ran first =
      run_plimsoll({"estimate", "builtin:squeezenet1_0", "--gpu", "t4", "--batch", "8",
                    "--precision", "amp-fp16", "--optimizer", "adamw", "--freeze", "features.*",
                    "--train", "features.12.*", "--html", page, "--json"});
  write(answer, first.out);
  const Ran again = run_plimsoll({"estimate", "--from", answer, "--json"});
  CHECK(again.status == first.status);
  nlohmann::json wanted = nlohmann::json::parse(first.out);
  wanted["result"].erase("batches");  // the page's
  wanted["result"]["memory"].erase("curve");
  for (const char* of_page : {"parts", "tensors"})
    wanted["result"]["memory"]["peak"].erase(of_page);
  wanted["result"].erase("modules");
  CHECK(nlohmann::json::parse(again.out) == wanted);
  CHECK(run_plimsoll({"estimate", "--from", page, "--json"}).out == again.out);
  CHECK(wanted["request"]["precision"] == "amp-fp16");
  CHECK(wanted["request_given"] ==
        nlohmann::json({"batch", "precision", "optimizer", "freeze", "train", "gpu"}));
}

TEST_CASE("cli: flags on the line win over an answer's, entries one by one") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string answer = scratch.path("answer.json");
  write(answer, run_plimsoll({"estimate", "builtin:gpt2", "--gpu", "a100", "--batch", "2", "--dim",
                              "sequence=64", "--set", "layers=2", "--json"})
                    .out);
  const Ran ran = run_plimsoll(
      {"estimate", "--from", answer, "--batch", "4", "--dim", "sequence=32", "--json"});
  const nlohmann::json request = nlohmann::json::parse(ran.out)["request"];
  CHECK(request["batch"] == 4);
  CHECK(request["dim"] == nlohmann::json({{"sequence", 32}}));
  CHECK(request["set"] == nlohmann::json({{"layers", "2"}}));
  CHECK(request["gpu"] == "a100");
  const Ran other =
      run_plimsoll({"estimate", "builtin:mlp", "--from", answer, "--dim", "sequence=32", "--json"});
  CHECK(says(other.err, "the model has no parameter 'layers'"));
}

TEST_CASE("cli: an answer's defaults hold, not those of who asks again") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string answer = scratch.path("answer.json");
  const std::vector<std::string> command = {"estimate", "builtin:mlp", "--gpu", "t4", "--json"};
  const Ran first = run_plimsoll(command);
  write(answer, first.out);
  const RunOptions other{.environment = {"PLIMSOLL_PRECISION=amp-bf16"}};
  CHECK(run_plimsoll({"estimate", "--from", answer, "--json"}, other).out == first.out);
  CHECK(run_plimsoll(command, other).out != first.out);
}

TEST_CASE("cli: what is no answer of estimate is refused at its place") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string file = scratch.path("answer.json");
  const auto refused = [&](const std::string& text) {
    write(file, text);
    const Ran ran = run_plimsoll({"estimate", "--from", file});
    CHECK(ran.status == 3);
    CHECK(ran.out == "");
    return ran.err;
  };
  CHECK(refused("").find("E331") != std::string::npos);
  CHECK(refused("{}").find("answer.json:1:1: error: the file is not an answer of estimate") !=
        std::string::npos);
  write(file, std::string(100'000, '['));
  CHECK(run_plimsoll({"estimate", "--from", file}).status == 5);
  const std::string bad =
      "{\"schema\": \"plimsoll.estimate\",\n \"request_given\": [],\n"
      " \"request\": {\"model\": \"builtin:mlp\", \"gpv\": \"t4\"}}";
  CHECK(refused(bad).find("answer.json:3:") != std::string::npos);
  const Ran missing = run_plimsoll({"estimate", "--from", scratch.path("none.json")});
  CHECK(missing.status == 4);
}

TEST_CASE("cli: the text says in three lines what was assumed, and the basis where it is wanted") {
  if (skipped()) return;
  const auto lines_with = [](const std::string& text, std::string_view beginning) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(beginning)) lines.push_back(line);
    }
    return lines;
  };
  for (const char* verb : {"estimate", "max-batch"}) {
    CAPTURE(verb);
    const std::vector<std::string> command = {verb, "builtin:squeezenet1_0", "--gpu", "t4"};
    const Ran ran = run_plimsoll(command);
    CHECK(lines_with(ran.out, "assumed: ").size() == 3);
    CHECK(lines_with(ran.out, "basis: ").empty());
    std::vector<std::string> with_basis = command;
    with_basis.emplace_back("--basis");
    CHECK(lines_with(run_plimsoll(with_basis).out, "basis: ").size() > 2);
    std::vector<std::string> quiet = command;
    quiet.emplace_back("--quiet");
    CHECK(lines_with(run_plimsoll(quiet).out, "assumed: ").empty());
  }
  const Ran said = run_plimsoll({"estimate", "builtin:squeezenet1_0", "--gpu", "t4", "--batch", "8",
                                 "--precision", "fp32", "--optimizer", "sgd"});
  for (const std::string& line : lines_with(said.out, "assumed: ")) {
    for (const char* given : {"--batch", "--precision", "--optimizer"})
      CHECK(line.find(given) == std::string::npos);
  }
}

TEST_CASE("cli: an answer holds what a training program's file set; one on the line wins over it") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string answer = scratch.path("answer.json");
  scratch.write("args.json", R"({"per_device_train_batch_size": 5, "optim": "adafactor"})");
  scratch.write("more.json", R"({"per_device_train_batch_size": 6})");
  const RunOptions here = {.folder = scratch.path("")};
  const Ran first = run_plimsoll(
      {"estimate", "builtin:mlp", "--gpu", "t4", "--trainer", "args.json", "--json"}, here);
  write(answer, first.out);
  const auto again =
      nlohmann::json::parse(run_plimsoll({"estimate", "--from", answer, "--json"}).out);
  CHECK(again["result"] == nlohmann::json::parse(first.out)["result"]);
  CHECK(again["request"]["batch"] == 5);
  const auto other = nlohmann::json::parse(
      run_plimsoll({"estimate", "--from", answer, "--trainer", "more.json", "--json"}, here).out);
  CHECK(other["request"]["batch"] == 6);
  CHECK(other["request"]["optimizer"] == "adafactor");
}

}  // namespace plimsoll::test
