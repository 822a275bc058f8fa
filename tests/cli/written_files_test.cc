#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/onnx_writer.h"
#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

void check_refused(const std::string& code, const std::string& message, const Ran& ran) {
  CAPTURE(ran.err.substr(0, 500));
  CHECK(ran.status == 4);
  CHECK(ran.err.find(message) != std::string::npos);
  CHECK(ran.err.substr(0, ran.err.find('\n')).ends_with("[" + code + "]"));
}

}  // namespace

// Row G2 of the catalogue of bad inputs.
TEST_CASE("cli: neither a trace nor a page is written over a file unless told to") {
  if (skipped()) return;
  const Scratch scratch;
  for (const std::string flag : {"--trace", "--html"}) {
    CAPTURE(flag);
    const std::string begin = flag == "--trace" ? "{" : "<!DOCTYPE html>";
    const std::string path = scratch.write("out", "mine");
    std::vector<std::string> arguments = {"estimate", "builtin:alexnet", "--gpu", "l4", flag, path};
    const Ran refused = run_plimsoll(arguments);
    CHECK(refused.status == 4);
    CHECK(refused.err.find("[E610]") != std::string::npos);
    CHECK(detail::text_of(path) == "mine");
    arguments.emplace_back("--force");
    CHECK(run_plimsoll(arguments).status == 0);
    CHECK(detail::text_of(path).starts_with(begin));
    const std::string link = scratch.path("link");
    REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);
    arguments[5] = link;
    CHECK(run_plimsoll(arguments).status == 4);
    ::unlink(link.c_str());
  }
}

TEST_CASE("cli: a page names the command that repeats it, whatever is in it") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string path = scratch.path("a b<c>.html");
  REQUIRE(run_plimsoll({"estimate", "builtin:alexnet", "--gpu", "l4", "--html", path}).status == 0);
  const std::string page = detail::text_of(path);
  CHECK(page.find("plimsoll estimate builtin:alexnet --gpu l4 --html &#39;" +
                  path.substr(0, path.find('<')) + "&lt;c&gt;.html&#39;") != page.npos);
}

TEST_CASE("cli: what a page holds is what --json says beside it") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string path = scratch.path("page.html");
  const Ran ran =
      run_plimsoll({"estimate", "builtin:alexnet", "--gpu", "l4", "--html", path, "--json"});
  REQUIRE(ran.status == 0);
  const std::string page = detail::text_of(path), mark = "id=\"plimsoll-result\">";
  const size_t begin = page.find(mark) + mark.size();
  CHECK(nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin)) ==
        nlohmann::json::parse(ran.out));
}

TEST_CASE("cli: no output is written over a file that the command reads, told to or not") {
  if (skipped()) return;
  const Scratch scratch;
  const RunOptions here = {.folder = scratch.path("")};
  scratch.write("ds.json", R"({"zero_optimization": {"stage": 2}})");
  scratch.write("args.json",
                R"({"per_device_train_batch_size": 4, "deepspeed": "ds.json", "bf16": true})");
  scratch.write("plimsoll.yaml", "gpu: l4\n");
  scratch.write("p.yaml", "model: builtin:mlp\nparameters: {batch: [2, 4], trainer: args.json}\n");
  const std::vector<std::string> estimate = {"estimate",  "builtin:mlp", "--gpus", "2",
                                             "--trainer", "args.json",   "--force"};
  const auto is_refused = [&](std::vector<std::string> arguments, const std::string& path) {
    CAPTURE(path);
    const std::string before = detail::text_of(scratch.path(path));
    arguments.push_back(path);
    const Ran ran = run_plimsoll(arguments, here);
    CHECK(ran.status == 2);
    CHECK(says(ran, "name one file [E114]"));
    CHECK(detail::text_of(scratch.path(path)) == before);
  };
  const auto with = [](std::vector<std::string> arguments, const std::string& flag) {
    arguments.push_back(flag);
    return arguments;
  };
  for (const char* flag : {"--html", "--trace"}) {
    for (const char* path : {"args.json", "ds.json", "plimsoll.yaml"})
      is_refused(with(estimate, flag), path);
  }
  is_refused({"max-batch", "builtin:mlp", "--trainer", "args.json", "--force", "--html"},
             "args.json");
  is_refused({"sweep", "p.yaml", "--force", "--html"}, "args.json");
  scratch.write("run.json", R"({"kind": "memory", "device": "l4", "model": "builtin:mlp"})");
  is_refused({"share", "run.json", "--force", "--out"}, "run.json");
}

// Rows G1 to G3.
TEST_CASE("cli: a trace replaces a file whole, follows no link, and leaves nothing else") {
  if (skipped()) return;
  const Scratch scratch;
  GraphParts parts;
  parts.inputs = {value("x", {4, 8})};
  parts.outputs = {value("y", {})};
  parts.nodes = {node("Relu", {"x"}, {"y"})};
  const std::string relu = scratch.write("m.onnx", model(graph(parts)).bytes());
  const auto traced = [&](const std::string& path, bool force = false) {
    std::vector<std::string> arguments = {"estimate", relu, "--mode",  "inference",
                                          "--gpu",    "l4", "--trace", path};
    if (force) arguments.emplace_back("--force");
    return run_plimsoll(arguments);
  };
  const auto files = [&] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(scratch.path("")))
      ++count;
    return count;
  };
  const std::string path = scratch.path("t.json");
  CHECK(traced(path).status == 0);
  CHECK(nlohmann::json::accept(detail::text_of(path)));
  check_refused("E610", "--force", traced(path));
  scratch.write("t.json", "old");
  CHECK(traced(path, true).status == 0);
  CHECK(nlohmann::json::accept(detail::text_of(path)));
  const std::string link = scratch.path("link");
  for (const std::string& target : {scratch.write("victim", "theirs"), scratch.path("missing")}) {
    std::filesystem::create_symlink(target, link);
    check_refused("E612", "symbolic link", traced(link));
    check_refused("E612", "symbolic link", traced(link, true));
    CHECK(std::filesystem::is_symlink(link));
    std::filesystem::remove(link);
  }
  CHECK(detail::text_of(scratch.path("victim")) == "theirs");
  CHECK_FALSE(std::filesystem::exists(scratch.path("missing")));
  check_refused("E612", "No space left", traced("/dev/full", true));
  check_refused("E612", "No such file", traced(scratch.path("no/t.json")));
  // One that fails leaves what was there.
  scratch.write("t.json", "old");
  CHECK(run_plimsoll(
            {"estimate", relu, "--gpu", "l4", "--trace", path, "--force", "--dim", "nosuch=1"})
            .status == 2);
  CHECK(detail::text_of(path) == "old");
  CHECK(files() == 3);
}
