// One rank of sharded steps, against what PyTorch's own FSDP2, FSDP1 and DTensor allocate on fake
// tensors
// (tests/oracles/sharded_models.py): bytes that stay and the highest number alive, to the byte.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "estimator/settings/given_settings.h"
#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// `library`: "fsdp1", "fsdp2", "tp", or "losses", of either version of FSDP.
Request sharded_request(const nlohmann::json& one, const std::string& library,
                        const std::string& model, bool tokens) {
  GivenSettings given;
  given.model = model;
  const auto add = [&](std::string_view name, const std::string& text) {
    given.add(*find_setting(name), text);
  };
  add("gpu", "h100-sxm-80gb");
  add("batch", std::to_string(one["batch"].get<int>()));
  const std::string ranks = std::to_string(one["ranks"].get<int>());
  if (library == "tp") {
    add("tp", ranks);
    if (one["sequence_parallel"]) add("sequence-parallel", "");
  } else {
    add("fsdp", ranks);
    add("fsdp-version", library == "fsdp1" || one.value("version", 2) == 1 ? "1" : "2");
    if (one["keeps_gathered"]) add("zero", "2");
  }
  add("precision", one["precision"]);
  add("optimizer", one["optimizer"]);
  if (one.contains("accumulate")) add("accumulate", std::to_string(one["accumulate"].get<int>()));
  if (one.value("no_sync", false)) add("no-sync", "");
  add("loss", one.contains("form") ? "causal_lm" : tokens ? "cross_entropy" : "sum");
  if (one.contains("form")) add("loss-form", one["form"]);
  auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

std::string sharded_case(const std::string& model, const nlohmann::json& one) {
  const std::string form = one.contains("form") ? fmt::format(" {} {}", one["version"].get<int>(),
                                                              one["form"].get<std::string>())
                                                : "";
  return fmt::format("{} {} {} {} {}{}{}{}{}{}", model,
                     one.contains("sequence_parallel") ? "tp" : "fsdp", one["ranks"].get<int>(),
                     one["precision"].get<std::string>(), one["optimizer"].get<std::string>(),
                     one.value("keeps_gathered", false) ? " gathered" : "",
                     one.value("sequence_parallel", false) ? " sequence" : "",
                     one.contains("accumulate") ? " accumulated" : "",
                     one.value("no_sync", false) ? " no_sync" : "", form);
}

struct ShardedErrors {
  test::Errors stays, peak;
};

ShardedErrors sharded_errors(const std::string& library) {
  const auto golden = test::read_golden(fmt::format("sharded/{}.json", library));
  const test::Scratch scratch;
  ShardedErrors compared;
  for (const auto& model : golden["models"]) {
    const std::string name = model["name"];
    const std::string path = scratch.write("model.json", model["config"].dump());
    for (const auto& one : model["cases"]) {
      const std::string what = sharded_case(name, one);
      CAPTURE(what);
      const Request request = sharded_request(one, library, path, name != "perceptron");
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
  const ShardedErrors compared = sharded_errors("fsdp2");
  CHECK(compared.stays.count() == 64);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("fsdp2 peak", compared.peak);
}

// SHARD_GRAD_OP compares addresses of data, which fake tensors have not: it is not among them.
TEST_CASE("a rank of FSDP1 keeps and takes what PyTorch's own does") {
  const ShardedErrors compared = sharded_errors("fsdp1");
  CHECK(compared.stays.count() == 48);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("fsdp1 peak", compared.peak);
}

TEST_CASE(
    "a rank of FSDP whose loss makes scores of parts keeps and takes what PyTorch's own does") {
  const ShardedErrors compared = sharded_errors("losses");
  CHECK(compared.stays.count() == 48);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("sharded losses peak", compared.peak);
}

TEST_CASE("a rank of tensor parallelism keeps and takes what DTensor's does") {
  const ShardedErrors compared = sharded_errors("tp");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  CHECK(compared.peak.share_exact() == 1);
}

}  // namespace plimsoll
