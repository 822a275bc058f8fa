// One rank of sharded steps, against what PyTorch's own FSDP2, FSDP1, DTensor and ring attention
// allocate on fake tensors (tests/oracles/sharded_models.py, sharded_plans.py, sharded_experts.py),
// on families of transformers too (sharded_families.py), and what TRL copies to the host
// (activation_offload.py): bytes that stay and the highest number
// alive, to the byte.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "estimator/settings/given_settings.h"
#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

using Add = std::function<void(std::string_view name, const std::string& text)>;

// `library`: a file of tests/golden/sharded.
void add_plan(const nlohmann::json& one, const std::string& library, const Add& add) {
  const std::string ranks = std::to_string(one["ranks"].get<int>());
  if (library == "cp") {
    add("cp", ranks);
    add("cp-kind", one["cp_kind"]);
    add("attention", "flash");
    add("fsdp", "1");  // over those that share sequences
    return;
  }
  if (library == "activations") {
    add("offload", one["offload"]);
    return;
  }
  if (library.starts_with("experts")) {
    add("ep", ranks);
    if (one.contains("tensor")) add("tp", std::to_string(one["tensor"].get<int>()));
    add("fsdp", std::to_string(one["shards"].get<int>()));
    return;
  }
  if (one.contains("lora_rank")) {
    add("finetune", one.contains("quantize") ? "qlora" : "lora");
    if (one.contains("quantize")) add("quantize", one["quantize"]);
    add("lora-rank", std::to_string(one["lora_rank"].get<int>()));
    add("lora-targets", one.value("lora_targets", "up,down"));
    if (one.contains("plan") && one["precision"] == "bf16") {
      add("lora-upcast", "off");
      if (one.value("version", 2) == 1) add("lora-in-blocks", "");
    }
  }
  if (one.contains("sequence_parallel")) {
    if (one.contains("lora_rank") && !one.contains("plan") && one["precision"] == "bf16")
      add("lora-upcast", "off");
    add("tp", ranks);
    if (one["sequence_parallel"]) add("sequence-parallel", "");
    if (one.contains("split_loss")) add("split-loss", one["split_loss"]);
    if (one.contains("shards")) add("fsdp", std::to_string(one["shards"].get<int>()));
    return;
  }
  add("fsdp", ranks);
  if (one.contains("offload")) add("offload", one["offload"]);
  if (one.contains("replicas")) add("parallel", fmt::format("dp={}", one["replicas"].get<int>()));
  add("fsdp-version", library == "fsdp1" || one.value("version", 2) == 1 ? "1" : "2");
  if (one["keeps_gathered"]) add("zero", "2");
  if (one.value("reentrant", false)) add("use-reentrant", "");
  if (one.contains("master_copies")) add("master-copies", "");
}

Request sharded_request(const nlohmann::json& one, const std::string& library,
                        const std::string& model, bool tokens) {
  GivenSettings given;
  given.model = model;
  const Add add = [&](std::string_view name, const std::string& text) {
    given.add(*find_setting(name), text);
  };
  add("gpu", "h100-sxm-80gb");
  add("batch", std::to_string(one["batch"].get<int>()));
  add_plan(one, library, add);
  add("precision", one["precision"]);
  add("optimizer", one["optimizer"]);
  if (one.contains("accumulate")) add("accumulate", std::to_string(one["accumulate"].get<int>()));
  if (one.value("no_sync", false)) add("no-sync", "");
  if (one.contains("checkpoint")) add("checkpoint", one["checkpoint"]);
  add("loss", one.contains("form") ? "causal_lm" : tokens ? "cross_entropy" : "sum");
  if (one.contains("form")) add("loss-form", one["form"]);
  // Its parts of scores have no names there, as torchtune's.
  if (one.value("form", "") == "chunked") add("keep-outputs", "off");
  auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

std::string sharded_case(const std::string& model, const nlohmann::json& one) {
  if (one.contains("plan")) return fmt::format("{} {}", model, one["plan"].get<std::string>());
  const std::string form = one.contains("form") ? fmt::format(" {} {}", one["version"].get<int>(),
                                                              one["form"].get<std::string>())
                                                : "";
  const std::string kind =
      one.contains("cp_kind") ? one["cp_kind"].get<std::string>()
      : one.contains("lora_rank")
          ? fmt::format("{} {} {}", one.contains("quantize") ? "qlora" : "lora",
                        one["checkpoint"].get<std::string>(),
                        one.contains("sequence_parallel") ? "tp" : "fsdp")
      : one.contains("sequence_parallel") ? "tp"
                                          : "fsdp";
  const bool hybrid = one.contains("version") && !one.contains("form");
  const std::string shards =
      one.contains("shards") ? fmt::format("x{}", one["shards"].get<int>()) : "";
  const std::string offload =
      one.contains("offload") ? fmt::format(" {} offloaded{}", one["offload"].get<std::string>(),
                                            one.contains("checkpoint") && hybrid
                                                ? " " + one["checkpoint"].get<std::string>()
                                                : "")
                              : "";
  return fmt::format("{} {}{} {}{} {} {}{}{}{}{}{}{}", model, kind,
                     hybrid ? std::to_string(one.value("version", 2)) : "", one["ranks"].get<int>(),
                     shards, one["precision"].get<std::string>(),
                     one["optimizer"].get<std::string>(),
                     one.value("keeps_gathered", false) ? " gathered" : "",
                     one.value("sequence_parallel", false) ? " sequence" : "",
                     one.contains("accumulate") ? " accumulated" : "",
                     one.value("no_sync", false) ? " no_sync" : "", form, offload);
}

bool is_family(const nlohmann::json& config) { return config.contains("model_type"); }

// Their scores are of classes.
bool of_tokens(const nlohmann::json& config) {
  return is_family(config) || config["inputs"][0].value("dtype", "f32") == "i64";
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
      Request request = sharded_request(one, library, path, of_tokens(model["config"]));
      if (is_family(model["config"])) request.dims["sequence"] = 128;
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

TEST_CASE(
    "a rank of tensor parallelism that gathers all scores keeps and takes what DTensor's does") {
  const ShardedErrors compared = sharded_errors("tp-gathered");
  CHECK(compared.stays.count() == 8);
  CHECK(compared.stays.share_exact() == 1);
  CHECK(compared.peak.share_exact() == 1);
}

TEST_CASE("a rank of context parallelism keeps and takes what PyTorch's ring attention does") {
  const ShardedErrors compared = sharded_errors("cp");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  CHECK(compared.peak.share_exact() == 1);
}

TEST_CASE("a rank of groups that replicate each other keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("hsdp");
  CHECK(compared.stays.count() == 24);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("hsdp peak", compared.peak);
}

TEST_CASE("a rank of FSDP2 over tensor parallelism keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("fsdp-tp");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  CHECK(compared.peak.share_exact() == 1);
}

TEST_CASE("a rank of FSDP whose blocks are checkpointed keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("checkpoint");
  CHECK(compared.stays.count() == 18);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("sharded checkpoint peak", compared.peak);
}

TEST_CASE(
    "a rank whose blocks run again in a pass of their own keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("reentrant");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("sharded reentrant peak", compared.peak);
}

TEST_CASE("a rank of FSDP under autocast keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("autocast");
  CHECK(compared.stays.count() == 8);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("sharded autocast peak", compared.peak);
}

TEST_CASE(
    "a rank of FSDP with copies in 32 bits of parts in 16 keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("copies");
  CHECK(compared.stays.count() == 24);
  CHECK(compared.stays.share_exact() == 1);
  CHECK(compared.peak.share_exact() == 1);
}

TEST_CASE("a rank of FSDP2 whose weights the host has keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("offload");
  CHECK(compared.stays.count() == 28);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("sharded offload peak", compared.peak);
}

TEST_CASE("a rank of FSDP1 whose weights the host has keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("offload-fsdp1");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("sharded offload of FSDP1 peak", compared.peak);
}

TEST_CASE("a GPU whose feature maps go to the host keeps and takes what TRL's offloading does") {
  const ShardedErrors compared = sharded_errors("activations");
  CHECK(compared.stays.count() == 14);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("offloaded activations peak", compared.peak);
}

TEST_CASE(
    "a rank of FSDP2 that trains adapters of frozen weights keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("lora");
  CHECK(compared.stays.count() == 24);
  CHECK(compared.stays.share_exact() == 1);
  CHECK(compared.peak.share_exact() == 1);
}

// FSDP1 has an array for each matrix of an adapter, here a unit's adapters share one.
TEST_CASE(
    "a rank of FSDP whose frozen weights are in four bits keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("qlora");
  CHECK(compared.stays.count() == 22);
  test::check_differences("sharded qlora stays", compared.stays);
  test::check_differences("sharded qlora peak", compared.peak);
}

TEST_CASE("a rank of tensor parallelism that trains a family keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("families-tp");
  CHECK(compared.stays.count() == 20);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("families of split layers peak", compared.peak);
}

TEST_CASE("a rank that shares attention in its family's way keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("layers-tp");
  CHECK(compared.stays.count() == 8);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("families of layers split apart peak", compared.peak);
}

TEST_CASE("a rank of a plan that combines several things keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("mixes");
  CHECK(compared.stays.count() == 32);
  test::check_differences("sharded mixes stays", compared.stays);
  test::check_differences("sharded mixes peak", compared.peak);
}

// No golden: of what lies between sums a rank then has its part, and of weights what it had.
TEST_CASE("a rank that has a part of sequences too keeps the same and takes no more") {
  const auto golden = test::read_golden("sharded/families-tp.json");
  const test::Scratch scratch;
  for (const auto& model : golden["models"]) {
    const std::string path = scratch.write("model.json", model["config"].dump());
    for (nlohmann::json one : model["cases"]) {
      CAPTURE(sharded_case(model["name"], one));
      one["sequence_parallel"] = true;
      Request request = sharded_request(one, "families-tp", path, true);
      request.dims["sequence"] = 128;
      const auto platform = find_platform(test::hwdb(), request, request.devices.front());
      const auto compiled = compile(request, *platform);
      REQUIRE(compiled);
      const auto bound = bind_step(compiled->step, compiled->binding);
      REQUIRE(bound);
      CHECK(test::step_faults(compiled->step, *bound, 512).empty());
      const Timeline t = walk(compiled->step, *bound, 512);
      CHECK(t.persistent_bytes == one["stays"].get<int64_t>());
      CHECK(t.peak_bytes <= one["peak"].get<int64_t>());
    }
  }
}

TEST_CASE("a rank of tensor parallelism that trains adapters keeps and takes what DTensor's does") {
  const ShardedErrors compared = sharded_errors("lora-tp");
  CHECK(compared.stays.count() == 16);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("adapters of split layers peak", compared.peak);
}

TEST_CASE(
    "a rank that trains adapters of a family's attention keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("adapters-tp");
  CHECK(compared.stays.count() == 4);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("adapters of families' split layers peak", compared.peak);
}

TEST_CASE(
    "a rank of FSDP2 with experts on a mesh of their own keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("experts");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("experts peak", compared.peak);
}

TEST_CASE("a rank that has parts of some experts keeps and takes what PyTorch's does") {
  const ShardedErrors compared = sharded_errors("experts-tp");
  CHECK(compared.stays.count() == 12);
  CHECK(compared.stays.share_exact() == 1);
  test::check_differences("parts of experts peak", compared.peak);
}

}  // namespace plimsoll
