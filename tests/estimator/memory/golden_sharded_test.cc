// One rank of sharded steps, against what PyTorch's own FSDP2 and FSDP1 allocate on fake tensors
// (tests/oracles/sharded_models.py): bytes that stay and the highest number alive, to the byte.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "estimator/settings/given_settings.h"
#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request sharded_request(const nlohmann::json& one, int version, const std::string& model,
                        bool tokens) {
  GivenSettings given;
  given.model = model;
  const auto add = [&](std::string_view name, const std::string& text) {
    given.add(*find_setting(name), text);
  };
  add("gpu", "h100-sxm-80gb");
  add("batch", std::to_string(one["batch"].get<int>()));
  add("fsdp", std::to_string(one["ranks"].get<int>()));
  add("fsdp-version", std::to_string(version));
  if (one["keeps_gathered"]) add("zero", "2");
  add("precision", one["precision"]);
  add("optimizer", one["optimizer"]);
  if (one.contains("accumulate")) add("accumulate", std::to_string(one["accumulate"].get<int>()));
  if (one.value("no_sync", false)) add("no-sync", "");
  add("loss", tokens ? "cross_entropy" : "sum");
  auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

std::string sharded_case(const std::string& model, const nlohmann::json& one) {
  return fmt::format("{} fsdp {} {} {}{}{}{}", model, one["ranks"].get<int>(),
                     one["precision"].get<std::string>(), one["optimizer"].get<std::string>(),
                     one["keeps_gathered"] ? " gathered" : "",
                     one.contains("accumulate") ? " accumulated" : "",
                     one.value("no_sync", false) ? " no_sync" : "");
}

struct ShardedErrors {
  test::Errors stays, peak;
};

ShardedErrors sharded_errors(int version) {
  const auto golden = test::read_golden(fmt::format("sharded/fsdp{}.json", version));
  const test::Scratch scratch;
  ShardedErrors compared;
  for (const auto& model : golden["models"]) {
    const std::string name = model["name"];
    const std::string path = scratch.write("model.json", model["config"].dump());
    for (const auto& one : model["cases"]) {
      const std::string what = sharded_case(name, one);
      CAPTURE(what);
      const Request request = sharded_request(one, version, path, name != "perceptron");
      const auto platform = find_platform(test::hwdb(), request, request.devices.front());
      REQUIRE(platform);
      const auto compiled = compile(request, *platform);
      REQUIRE(compiled);
      const auto bound = bind_step(compiled->step, compiled->binding);
      REQUIRE(bound);
      for (const std::string& fault : test::step_faults(compiled->step, *bound, 512))
        FAIL_CHECK(fault);
      const Timeline t = walk(compiled->step, *bound, 512);
      compared.stays.add(what, t.persistent_bytes, one["stays"]);
      compared.peak.add(what, t.peak_bytes, one["peak"]);
    }
  }
  MESSAGE("stays: ", compared.stays.text());
  MESSAGE("peak: ", compared.peak.text());
  return compared;
}

}  // namespace

TEST_CASE("a rank of FSDP2 keeps and takes what PyTorch's own does") {
  const ShardedErrors compared = sharded_errors(2);
  CHECK(compared.stays.count() == 64);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("fsdp2 peak", compared.peak);
}

// SHARD_GRAD_OP compares addresses of data, which fake tensors have not: it is not among them.
TEST_CASE("a rank of FSDP1 keeps and takes what PyTorch's own does") {
  const ShardedErrors compared = sharded_errors(1);
  CHECK(compared.stays.count() == 48);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("fsdp1 peak", compared.peak);
}

}  // namespace plimsoll
