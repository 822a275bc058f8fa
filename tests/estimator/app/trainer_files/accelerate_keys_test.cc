// Keys of the files of accelerate, DeepSpeed and torchtitan that change memory or time, and those
// that are told.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "estimator/app/trainer_files/trainer_file.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

Result<TrainerFile> file_of(const std::string& name, const std::string& text) {
  const test::Scratch scratch;
  return read_trainer_file(scratch.write(name, text), [](std::string_view) { return false; });
}

Result<TrainerFile> of_fsdp(const std::string& keys) {
  return file_of("config.yaml",
                 "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n" +
                     keys + "num_processes: 8\n");
}

Result<TrainerFile> of_deepspeed(const std::string& keys) {
  return file_of("ds.json", R"({"train_micro_batch_size_per_gpu": 1, )" + keys + "}");
}

std::string text_of(const Result<TrainerFile>& file, std::string_view name) {
  REQUIRE(file);
  return file->settings.text(name);
}

}  // namespace

TEST_CASE("accelerate's FSDP is version 1 where no key says which") {
  CHECK(text_of(of_fsdp("  fsdp_offload_params: false\n"), "fsdp-version") == "1");
  CHECK(text_of(of_fsdp("  fsdp_version: 2\n"), "fsdp-version") == "2");
}

TEST_CASE("how accelerate's FSDP 1 loads weights") {
  const auto load = [](const std::string& keys) { return text_of(of_fsdp(keys), "load"); };
  CHECK(load("  fsdp_sync_module_states: true\n") == "broadcast");
  CHECK(load("  fsdp_sync_module_states: false\n") == "units");
  CHECK(load("  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: false\n") ==
        "broadcast");
  CHECK(load("  fsdp_version: 2\n  fsdp_cpu_ram_efficient_loading: true\n").empty());
}

TEST_CASE("what accelerate offloads of blocks that run again") {
  const auto file = of_fsdp(
      "  fsdp_version: 2\n  fsdp_activation_checkpointing: true\n"
      "  fsdp_activation_checkpointing_offload: true\n");
  CHECK(text_of(file, "offload") == "activations");
  CHECK(text_of(file, "checkpoint") == "blocks");
}

TEST_CASE("keys of FSDP that would make the answer too low are refused") {
  for (const char* keys :
       {"  fsdp_sharding_strategy: NO_SHARD\n", "  fsdp_auto_wrap_policy: NO_WRAP\n",
        "  fsdp_limit_all_gathers: false\n", "  fsdp_ignored_modules: lm_head\n"}) {
    CAPTURE(keys);
    const auto file = of_fsdp(keys);
    REQUIRE(!file);
    CHECK(file.error().front().code == "E357");
  }
}

TEST_CASE("keys of FSDP that are not modelled are told, and those of no effect are listed") {
  const auto file = of_fsdp(
      "  fsdp_backward_prefetch: NO_PREFETCH\n  fsdp_forward_prefetch: true\n"
      "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 100000000\n"
      "  fsdp_state_dict_type: FULL_STATE_DICT\n");
  REQUIRE(file);
  CHECK(file->warnings.size() == 3);
  for (const char* key : {"fsdp_config.min_num_params", "fsdp_config.state_dict_type"})
    CHECK(std::ranges::count(file->unused, key) == 1);
}

TEST_CASE("accelerate's Megatron-LM and its parallelism") {
  const auto megatron = file_of(
      "config.yaml",
      "distributed_type: MEGATRON_LM\nnum_processes: 8\nmegatron_lm_config:\n"
      "  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 2\n  megatron_lm_num_micro_batches: 4\n"
      "  megatron_lm_sequence_parallelism: true\n  megatron_lm_gradient_clipping: 1.0\n"
      "  megatron_lm_use_distributed_optimizer: true\n");
  CHECK(text_of(megatron, "tp") == "2");
  CHECK(text_of(megatron, "pp") == "2");
  CHECK(text_of(megatron, "micro-batches") == "4");
  CHECK(text_of(megatron, "zero") == "1");
  const auto shared = file_of("config.yaml",
                              "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
                              "  fsdp_version: 2\nparallelism_config:\n"
                              "  parallelism_config_dp_shard_size: 4\n"
                              "  parallelism_config_tp_size: 1\n"
                              "  parallelism_config_cp_size: 2\n"
                              "  parallelism_config_cp_comm_strategy: allgather\n");
  CHECK(text_of(shared, "fsdp") == "4");
  CHECK(text_of(shared, "cp") == "2");
  CHECK(text_of(shared, "cp-kind") == "allgather");
  CHECK(text_of(shared, "tp").empty());
}

TEST_CASE("a model that accelerate loads before DeepSpeed has it is whole on each GPU") {
  const auto load = [](const std::string& keys) {
    return text_of(
        file_of("config.yaml",
                "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n" + keys),
        "load");
  };
  CHECK(load("  zero_stage: 3\n  zero3_init_flag: false\n") == "whole");
  CHECK(load("  zero_stage: 3\n  zero3_init_flag: true\n").empty());
  CHECK(load("  zero_stage: 2\n  zero3_init_flag: false\n").empty());
}

// torchtitan/config/job_config.py, Parallelism.
TEST_CASE("torchtitan counts ranks of tensor parallelism among those that share experts") {
  const auto experts = [](const std::string& keys) {
    return file_of("t.toml",
                   "[training]\nlocal_batch_size = 1\n[parallelism]\n"
                   "tensor_parallel_degree = 2\n" +
                       keys);
  };
  const auto whole = experts("expert_parallel_degree = 8\n");
  CHECK(text_of(whole, "ep") == "4");
  CHECK(whole->settings.notes().size() == 1);
  CHECK(text_of(experts("expert_parallel_degree = 2\n"), "ep").empty());
  CHECK(text_of(experts("expert_parallel_degree = 8\nexpert_tensor_parallel_degree = 2\n"), "ep") ==
        "8");
}

TEST_CASE("DeepSpeed's bucket, and what Hugging Face's Trainer makes of auto") {
  const auto bucket = [](const std::string& value) {
    return of_deepspeed(R"("zero_optimization": {"stage": 2, "reduce_bucket_size": )" + value +
                        "}");
  };
  CHECK(text_of(bucket("2e8"), "zero-bucket") == "200000000");
  const auto by_hidden = bucket(R"("auto")");
  CHECK(text_of(by_hidden, "zero-bucket").empty());
  CHECK(by_hidden->settings.notes().size() == 1);
}

TEST_CASE("keys of DeepSpeed that are off, and those that are not modelled, are told") {
  const auto file = of_deepspeed(
      R"("zero_optimization": {"stage": 3, "overlap_comm": false, "contiguous_gradients": false,
         "mics_shard_size": 4, "sub_group_size": 1e9}, "wall_clock_breakdown": true)");
  REQUIRE(file);
  CHECK(file->warnings.size() == 2);
  CHECK(file->settings.text("zero-group") == "4");
  CHECK(file->unused ==
        std::vector<std::string>{"zero_optimization.sub_group_size", "wall_clock_breakdown"});
  for (const char* keys : {R"("data_types": {"grad_accum_dtype": "fp32"})",
                           R"("torch_autocast": {"enabled": true})"}) {
    const auto refused = of_deepspeed(keys);
    REQUIRE(!refused);
    CHECK(refused.error().front().code == "E357");
  }
}

}  // namespace plimsoll
