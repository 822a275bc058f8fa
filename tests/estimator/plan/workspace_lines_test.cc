#include "estimator/plan/workspace_lines.h"

#include <doctest/doctest.h>

namespace plimsoll {
EmbeddedFiles hwdb_files();
}

using namespace plimsoll;

TEST_CASE("workspace lines: one problem in, one answer out") {
  const EmbeddedFiles files = hwdb_files();
  WorkspaceLines lines(files, {.capability = 61});
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
  const EmbeddedFiles files = hwdb_files();
  WorkspaceLines lines(files, {});
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
