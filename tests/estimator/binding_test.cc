// Whoever says a size, and wherever it is evaluated, what it makes of a model must be possible.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "estimator/request/find_platform.h"
#include "estimator/step/bound_step.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

constexpr char kConfig[] = R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
"parameters": {"width": 200, "long": 8},
"inputs": [{"name": "x", "shape": ["batch", "long", 16]}], "layers": [
{"name": "fc", "type": "linear", "out": "width-100"},
{"name": "rest", "type": "slice", "axis": 1, "start": 4, "end": "long"}]})";

struct Compiling {
  test::Scratch scratch;
  Hwdb hwdb = Hwdb::open({}).value();
  Platform platform = find_platform(hwdb, Request{}, "tesla-t4").value();
  std::string path = scratch.write("net.json", kConfig);

  Result<CompiledModel> at(const Binding& dims, std::optional<int64_t> batch = std::nullopt) {
    Request request = test::request(path, "tesla-t4", batch);
    request.dims = dims;
    return compile(request, platform);
  }
  std::string code_at(const Binding& dims, std::optional<int64_t> batch = std::nullopt) {
    const auto compiled = at(dims, batch);
    return compiled ? "" : compiled.error().front().code;
  }
};

}  // namespace

TEST_CASE("extents are checked at the sizes asked for, whichever they are") {
  Compiling c;
  const auto usual = c.at({});
  REQUIRE(usual);
  CHECK(c.code_at({{"width", 101}}) == "");
  CHECK(c.code_at({{"width", 100}}) == "E231");
  CHECK(c.code_at({{"width", 64}}) == "E231");
  CHECK(c.code_at({{"long", 4}}) == "E231");
  // The step is no answer where it would not have been compiled.
  for (const auto& [name, value, holds] : {std::tuple("width", 150, true),
                                           {"width", 64, false},
                                           {"width", 100, false},
                                           {"long", 4, false}}) {
    const std::string at = fmt::format("{}={}", name, value);
    CAPTURE(at);
    Binding binding = usual->binding;
    binding[name] = value;
    CHECK(guards_hold(usual->step, binding) == holds);
  }
  const auto fault = c.at({{"width", 64}});
  CHECK(fault.error().front().message ==
        "parameter 'fc.weight' has an impossible extent: -36, of width - 100");
}

TEST_CASE("a value that no size can have is refused, however it came") {
  Compiling c;
  CHECK(c.code_at({}, 0) == "E237");
  CHECK(c.code_at({}, -8) == "E237");
  CHECK(c.code_at({}, int64_t{1} << 60) == "E237");
  CHECK(c.code_at({{"long", -1}}) == "E237");
}

TEST_CASE("what overflows where a step is bound is named") {
  Compiling c;
  const auto compiled = c.at({});
  REQUIRE(compiled);
  Binding binding = compiled->binding;
  binding["batch"] = int64_t{1} << 55;
  CHECK_FALSE(bind_step(compiled->step, binding));
  const NodeId node = unbindable_node(compiled->step, binding);
  REQUIRE(node != kNoNode);
  CHECK(describe(compiled->graph, node) == "node 0 'fc/Linear' (Linear)");
  CHECK(unbindable_node(compiled->step, compiled->binding) == kNoNode);
}

TEST_CASE("what overflows is named") {
  Compiling c;
  const auto fault = c.at({{"width", int64_t{1} << 40}}, int64_t{1} << 40);
  REQUIRE_FALSE(fault);
  CHECK(fault.error().front().code == "E232");
  CHECK(fault.error().front().place.node == "node 0 'fc/Linear' (Linear)");
}

}  // namespace plimsoll
