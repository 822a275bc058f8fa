#include "estimator/app/validate/measured_request.h"

#include <doctest/doctest.h>

#include "estimator/settings/record_forms.h"

using namespace plimsoll;

namespace {

MeasuredRun run() {
  MeasuredRun r;
  r.device = "titan-xp";
  r.model = "resnet-50";
  r.batch = 32;
  return r;
}

std::string refusal(const MeasuredRun& r) {
  const auto q = request_of(r, {});
  return q ? "" : q.error();
}

}  // namespace

TEST_CASE("measured request: what a run says, in the words of requests") {
  MeasuredRun r = run();
  r.batch = 64;
  r.n_gpus = 2;
  r.input = {3, 299, 299};
  r.mode = "train_no_update";
  r.optimizer = "timm default (SGD momentum)";
  r.dtype = "fp64";
  r.framework = "tensorpack 0.5";
  r.framework_version = "tf 1.3.0rc1";
  r.cudnn = "7.6.05";
  r.conv_library = "torch nn (im2col+SGEMM)";
  r.loss = "none";
  r.input_gradient = true;
  const auto q = request_of(r, {});
  REQUIRE(q);
  CHECK(q->model == "builtin:resnet-50");
  CHECK(q->batch == 32);
  CHECK(q->gpu_count == 2);
  CHECK(q->link == "pcie-3-dual-socket");
  CHECK(q->image == 299);
  CHECK(q->recipe.mode == Mode::kTrainNoUpdate);
  CHECK(q->recipe.optimizer == find_optimizer("momentum"));
  CHECK(q->recipe.precision == find_precision("fp64"));
  CHECK(q->recipe.loss == Loss::kNone);
  CHECK(q->loss_given);
  CHECK(q->framework == "tensorflow-1.3.0");
  CHECK(q->cudnn == "7.6.5");
  CHECK(q->conv_algorithm == AskedAlgorithm{.policy = AlgorithmPolicy::kIm2col});
  CHECK(q->input_gradient == true);
  CHECK_FALSE(q->input_copy);
}

TEST_CASE("measured request: passes of an update, what is computed again") {
  MeasuredRun r = run();
  r.batch = 64;
  r.n_gpus = 2;
  r.accumulation = 4;
  r.checkpoint = "full";
  const auto q = request_of(r, {});
  REQUIRE(q);
  CHECK(q->batch == 8);
  CHECK(q->recipe.accumulate == 4);
  CHECK(q->recipe.checkpoint == "blocks");
  r.micro_batch = 3;  // the last pass of a source may be smaller
  r.checkpoint = "none";
  CHECK(request_of(r, {})->batch == 3);
  CHECK(request_of(r, {})->recipe.accumulate == 4);
  r.accumulation.reset();  // 32 samples of a GPU are 10 passes of 3, as programs divide
  CHECK(request_of(r, {})->recipe.accumulate == 10);
  r.micro_batch = 64;  // of the whole batch, where a source says no more
  CHECK(request_of(r, {})->recipe.accumulate == 1);
  r.micro_batch = 3;
  CHECK(request_of(r, {})->recipe.checkpoint == "none");
  r.micro_batch.reset();
  r.accumulation = 64;
  CHECK(refusal(r) == "the batch is smaller than the number of GPUs");
}

TEST_CASE("measured request: how GPUs share the model") {
  MeasuredRun r = run();
  r.n_gpus = 16;
  r.nodes = 2;
  r.parallel = "dp=4,tp=2";
  r.zero_stage = 1;
  r.zero_group = 2;
  r.sequence_parallel = true;
  const auto q = request_of(r, {});
  REQUIRE(q);
  ParallelRequest wanted;
  wanted.axes = {2, 0, 0, 2, 4, 0};
  wanted.zero = 1;
  wanted.sequence_parallel = true;
  CHECK(q->parallel == wanted);
  CHECK(q->batch == 4);  // the two of tp have the same samples
  CHECK(q->nodes == 1);
  CHECK(q->link == "infiniband-edr");
  r.node_link = "infiniband-hdr";
  CHECK(request_of(r, {})->nodes == 2);
  CHECK(request_of(r, {})->network == "infiniband-hdr");
  CHECK(request_of(r, {})->link.empty());
  r.zero_stage = 0;
  CHECK_FALSE(request_of(r, {})->parallel.zero);
  r.zero_group.reset();
  r.parallel = "fsdp=16";
  r.fsdp_version = 1;
  CHECK(request_of(r, {})->parallel.fsdp);
  CHECK(request_of(r, {})->parallel.fsdp_version == 1);
  r.parallel = "fsdp=8,cp=2";
  CHECK(request_of(r, {})->parallel.axes[static_cast<size_t>(Axis::kContext)] == 2);
  r.parallel = "fsdp=8,etp=2";
  CHECK(refusal(r).find("'etp'") != std::string::npos);
  r.parallel = "tp=3";
  r.micro_batch.reset();
  CHECK(refusal(r).find("16 GPUs do not match") == 0);
}

TEST_CASE("measured request: published configurations by the names that trainers use") {
  MeasuredRun r = run();
  r.model = "llama-2-7b";
  CHECK(refusal(r) == "the record does not say how long sequences are: key seq is missing");
  r.sequence_length = 4096;
  const auto q = request_of(r, {});
  REQUIRE(q);
  CHECK(q->model == "hf:llama-2-7b");
  CHECK(q->dims.at("sequence") == 4096);
  r.model = "gpt2";  // a built-in network has this name too, and is meant
  CHECK(request_of(r, {})->model == "builtin:gpt2");
}

TEST_CASE("measured request: CUDA and the loading of modules choose the context") {
  MeasuredRun r = run();
  CHECK_FALSE(request_of(r, {})->module_loading);
  CHECK_FALSE(request_of(r, {})->cuda);
  r.module_loading = "lazy";
  r.cuda = "12.4.1";
  CHECK(request_of(r, {})->module_loading == ModuleLoading::kLazy);
  CHECK(request_of(r, {})->cuda == "12.4.1");
  r.module_loading = "eager";
  CHECK(request_of(r, {})->module_loading == ModuleLoading::kEager);
  r.module_loading = "sometimes";
  CHECK(refusal(r) == "module_loading 'sometimes' is not known");
}

TEST_CASE("measured request: norms with the batch's statistics in a forward pass") {
  MeasuredRun r = run();
  CHECK_FALSE(request_of(r, {})->recipe.batch_statistics);
  r.batch_statistics = true;
  CHECK(request_of(r, {})->recipe.batch_statistics);
}

TEST_CASE("measured request: perceptrons by their widths, sequences by the model's symbol") {
  MeasuredRun r = run();
  r.model = "mlp";
  r.input = {2346};
  r.linear_widths = {1173, 586, 197};
  r.output = 197;
  r.batchnorm = true;
  r.has_dropout = false;
  const auto q = request_of(r, {});
  REQUIRE(q);
  CHECK(q->settings.at("features") == "2346");
  CHECK(q->settings.at("widths") == "1173,586");
  CHECK(q->settings.at("outputs") == "197");
  CHECK(q->settings.at("batch_norm") == "1");
  CHECK(q->settings.at("dropout") == "0");
  MeasuredRun bert = run();
  bert.model = "bert-large";
  bert.input = {512};
  bert.sequence = "sequence";
  const auto b = request_of(bert, {});
  REQUIRE(b);
  CHECK(b->dims.at("sequence") == 512);
}

TEST_CASE("measured request: a path stays a path, a source's word for a network wins") {
  MeasuredRun r = run();
  r.model = "nets/mine.onnx";
  CHECK(request_of(r, {})->model == "nets/mine.onnx");
  r.model = "alexnet";
  r.network = "alexnet-bvlc";
  CHECK(request_of(r, {})->model == "builtin:alexnet-bvlc");
}

TEST_CASE("measured request: a net file's batch holds memory, it takes no time") {
  MeasuredRun r = run();
  r.batch = 2;
  r.least_batch = 10;
  CHECK(request_of(r, {})->batch == 10);
  r.measured = {{"total_ms", 5.0}};
  CHECK(request_of(r, {})->batch == 2);
}

TEST_CASE("measured request: layout and one process for all GPUs") {
  MeasuredRun r = run();
  r.layout = "nhwc";
  r.n_gpus = 2;
  r.parallelism = "nn.DataParallel";
  const auto q = request_of(r, {});
  CHECK(q->layout == Layout::kChannelsLast);
  CHECK(q->exchange == "data-parallel");
  r.parallelism = "data (all-reduce)";
  CHECK(request_of(r, {})->exchange.empty());
}

TEST_CASE("measured request: what is not known is said, never guessed") {
  MeasuredRun r = run();
  r.optimizer = "lars";
  CHECK(refusal(r) == "optimizer 'lars' is not known");
  r = run();
  r.dtype = "int4";
  CHECK(refusal(r) == "dtype 'int4' is not known");
  r = run();
  r.mode = "finetune";
  CHECK(refusal(r) == "mode 'finetune' is not known");
  r = run();
  r.loss = "triplet";
  CHECK(refusal(r) == "loss 'triplet' is not known");
  r = run();
  r.framework = "Julia - Knet";
  CHECK(refusal(r) == "framework 'Julia - Knet' is not modelled");
  r = run();
  r.model.clear();
  CHECK(refusal(r) == "the record names no model");
  r = run();
  r.batch.reset();
  CHECK(refusal(r) == "the record names no batch: key micro_batch is missing");
  r = run();
  r.n_gpus = 64;
  CHECK(refusal(r) == "the batch is smaller than the number of GPUs");
}

TEST_CASE("measured request: versions of libraries") {
  CHECK(version_as_written("7605")->text() == "7.6.5");
  CHECK(version_as_written("7.6.05")->text() == "7.6.5");
  CHECK(version_as_written("R4")->text() == "4");
  CHECK(version_as_written("8.0 RC")->text() == "8.0");
  CHECK_FALSE(version_as_written("unknown"));
}

TEST_CASE("measured request: the variant of a named optimizer is its program's") {
  const auto optimizer_of = [](const std::string& program, const std::string& named) {
    MeasuredRun r = run();
    r.framework = "pytorch / " + program;
    r.optimizer = named;
    const auto q = request_of(r, {});
    REQUIRE(q);
    return std::string(q->recipe.optimizer->name);
  };
  CHECK(optimizer_of("Megatron-LM", "adamw") == "adamw-fused");
  CHECK(optimizer_of("Megatron-LM", "adam") == "adamw-fused");
  CHECK(optimizer_of("Megatron-LM", "sgd") == "sgd");
  CHECK(optimizer_of("InternEvo", "adam (fp32 master)") == "adam");
}
