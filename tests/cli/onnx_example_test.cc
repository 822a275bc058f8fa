// examples/export_onnx.py makes a file that is read without a warning. Needs PyTorch and
// onnxscript, of PLIMSOLL_PYTHON or python3, or is reported as not run.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

// A Python that exports; empty where there is none.
std::string exporting_python() {
  const char* const named = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = named ? named : "/usr/bin/python3";
  if (::access(python.c_str(), X_OK) != 0) return {};
  const Ran ran = run_plimsoll({"-c",
                                "import importlib.util as u, sys; sys.exit(not all(map("
                                "u.find_spec, ('torch', 'onnxscript'))))"},
                               {.program = python.c_str()});
  return ran.status == 0 ? python : std::string();
}

}  // namespace

TEST_CASE("cli: the example of an export is estimated as the network that was exported") {
  if (skipped()) return;
  const std::string python = exporting_python();
  if (python.empty())
    return not_run("no PyTorch with onnxscript; PLIMSOLL_PYTHON names a Python that has them",
                   Lacks::kNeverBrought);
  const Scratch scratch;
  const std::string file = scratch.path("small.onnx");
  const Ran exported = run_plimsoll({PLIMSOLL_SOURCE_DIR "/examples/export_onnx.py", file},
                                    {.program = python.c_str(),
                                     .environment = {"HOME=" + scratch.path("home")},
                                     .folder = scratch.path(""),
                                     .address_space = RLIM_INFINITY,
                                     .stack = RLIM_INFINITY,
                                     .descriptors = 1024,
                                     .seconds = 120});
  CAPTURE(exported.err);
  REQUIRE(exported.status == 0);
  const size_t count = exported.out.rfind(" parameters");
  REQUIRE(count != exported.out.npos);
  const size_t begin = exported.out.rfind('\n', count) + 1;
  const Ran ran = run_plimsoll({"estimate", file, "--gpu", "t4", "--batch", "64", "--strict",
                                "--optimizer", "adamw", "--json"});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const auto result = nlohmann::json::parse(ran.out)["result"];
  CHECK(result["memory"]["parameters"]["count"] ==
        std::stoll(exported.out.substr(begin, count - begin)));
  CHECK(result["memory"]["buffers_bytes"] > 0);  // of batch norms that were not folded
}
