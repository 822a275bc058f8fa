#include "estimator/app/explain/workspace_lines.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/scratch.h"

using namespace plimsoll;

TEST_CASE("workspace lines: one problem in, one answer out") {
  WorkspaceLines lines(Hwdb(), {.capability = 61});
  const std::string problem =
      R"({"pass": "fprop", "n": 32, "c": 64, "h": 56, "w": 56, "k": 64, "r": 3, "s": 3)";
  const auto answer =
      lines.answer(problem + R"(, "pad_h": 1, "pad_w": 1, "dtype": "fp32", "layout": "nchw"})", 1);
  REQUIRE(answer.has_value());
  CHECK(answer->starts_with(R"({"algorithm":"winograd","engine":12,"workspace_bytes":409856,)"));
  CHECK(answer->ends_with(R"("basis":"table"})"));
  CHECK(lines.answer(problem + R"(, "groups": 64})", 1)->find(R"("engine":null)") !=
        std::string::npos);
}

TEST_CASE("workspace lines: faults name their line") {
  WorkspaceLines lines(Hwdb(), {});
  const auto code = [&](std::string_view text) { return lines.answer(text, 3).error()[0].code; };
  CHECK(code("") == "E331");
  CHECK(code(R"({"pass": "fprop"})") == "E306");
  CHECK(code(R"({"pass": "sideways", "n": 1, "c": 1, "h": 1, "w": 1, "k": 1, "r": 1, "s": 1})") ==
        "E313");
  CHECK(code(R"({"pass": "fprop", "n": 1, "c": 1, "h": 1, "w": 1, "k": 1, "r": 3, "s": 1})") ==
        "E241");
  CHECK(code(R"({"pass": "fprop", "n": 0, "c": 1, "h": 1, "w": 1, "k": 1, "r": 1, "s": 1})") ==
        "E312");
}

// A layer of ResNet-50 that the built-in table knows, which the folder's empty one does not.
TEST_CASE("workspace lines: a folder's own answers stand before the built-in ones") {
  const std::string which = "9.10-sm61-fp32-nchw";
  const std::string problem = R"({"pass": "fprop", "n": 32, "c": 64, "h": 56, "w": 56, "k": 64,)"
                              R"("r": 3, "s": 3, "pad_h": 1, "pad_w": 1})";
  const test::Scratch scratch;
  std::filesystem::create_directory(scratch.path("workspaces"));
  const auto answer = [&] {
    return WorkspaceLines(*Hwdb::open(scratch.path("")), {.capability = 61}).answer(problem, 1);
  };
  using namespace std::string_literals;
  scratch.write("workspaces/layers.bin", "PLL1\0\0\0\0"s);
  CHECK(answer().error()[0].code == "E301");  // the table is of other layers
  scratch.write("workspaces/cudnn-" + which + ".bin", "PLW1\0\0\0\0\1\0\0\0\x20\0\0\0"s);
  CHECK(answer()->ends_with(R"("basis":"rule"})"));
  scratch.write("workspaces/rule-" + which + ".json", "{}");
  CHECK(answer().error()[0].code == "E306");
}
