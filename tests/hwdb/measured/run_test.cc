#include "hwdb/measured/ignored_keys.h"
#include "hwdb/measured/reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace plimsoll;

namespace {

struct Outcome {
  Result<RunFile> file;
  std::vector<MeasuredRun> runs;
  std::string code() const { return file ? "" : file.error().front().code; }
};

Outcome read(const std::string& text, const Limits& limits = {}, const char* name = "run") {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const ByteSource source = ByteSource::of(name, {bytes, bytes + text.size()});
  std::vector<MeasuredRun> runs;
  auto file = read_measured(
      source, [&](MeasuredRun&& run) { runs.push_back(std::move(run)); }, limits);
  return {std::move(file), std::move(runs)};
}

Outcome record(const std::string& members, const std::string& kind = "model") {
  return read("{\"kind\": \"" + kind + "\", \"records\": [\n{" + members + "}]}");
}

}  // namespace

TEST_CASE("measured run: degrees of parallelism are the text of their setting") {
  const auto of = [](const std::string& members) {
    const Outcome outcome = record(R"("device": "a100-sxm-80gb", )" + members);
    REQUIRE(outcome.runs.size() == 1);
    return outcome.runs[0];
  };
  CHECK(of(R"("parallel": {"fsdp": 8, "tp": 2, "pp": 1})").parallel == "fsdp=8,tp=2");
  CHECK(of(R"("parallel": {"dp": 1})").parallel.empty());
  CHECK(of(R"("parallel": {"pp": 4, "dp": 64, "ep": 16})").parallel == "pp=4,dp=4,ep=16");
  CHECK(of(R"("parallel": {"ep": 8, "dp": 8})").parallel == "ep=8");
  CHECK(of(R"("parallel": {"fsdp": 2, "ep": 2})").parallel == "fsdp=all,ep=2");
  CHECK(of(R"("parallel": {"fsdp": 4, "cp": 2})").parallel == "fsdp=4,cp=2");
  CHECK(of(R"("parallel": "dp=4", "zero_group": 4)").parallel == "dp=4");
  // A source's dp counts the ranks that shard too.
  const MeasuredRun grouped = of(R"("parallel": {"tp": 2, "dp": 32}, "zero_group": 8)");
  CHECK(grouped.parallel == "tp=2,dp=4");
  CHECK(grouped.zero_group == 8);
  CHECK(of(R"("zero_group": 8, "parallel": {"dp": 8})").parallel.empty());
  CHECK(of(R"("zero_group": 8, "parallel": {"dp": 16, "fsdp": 8})").parallel == "dp=16,fsdp=8");
  CHECK(of(R"("offload": {"parameters": true, "optimizer": true, "activations": false})").offload ==
        "parameters,optimizer");
  CHECK(of(R"("offload": "states")").offload == "states");
  CHECK(of(R"("offload": {})").offload.empty());
  CHECK(of(R"("zero_stage": 3, "sequence_parallel": true)").zero_stage == 3);
}

TEST_CASE("measured run: a model's step, in JSON and in CSV") {
  const Outcome json = read(R"({
    "source": {"title": "T", "notes": "any"}, "kind": "model", "records": [
    {"device": "quadro-p4000", "model": "resnet50", "batch": 32, "input": [3, 224, 224],
     "mode": "train", "framework": "pytorch", "framework_version": "1.4.0", "n_gpus": 1,
     "total_ms": 301.25, "forward_ms": 100, "flags": ["near_capacity_8gb"], "weather": [1, "x"]}]})");
  REQUIRE(json.file);
  CHECK(json.file->title == "T");
  const Outcome csv = read(
      "kind,device,model,batch,input,mode,framework,framework_version,n_gpus,total_ms,forward_ms,"
      "flags,weather\n"
      "model,quadro-p4000,resnet50,32,3x224x224,train,pytorch,1.4.0,1,301.25,100,near_capacity_8gb,"
      "fine\n");
  REQUIRE(csv.file);
  for (const Outcome* outcome : {&json, &csv}) {
    REQUIRE(outcome->runs.size() == 1);
    const MeasuredRun& run = outcome->runs[0];
    CHECK(run.kind == RunKind::kModel);
    CHECK(run.device == "quadro-p4000");
    CHECK(run.batch == 32);
    CHECK(run.input == std::vector<int64_t>{3, 224, 224});
    CHECK(run.framework_id() == "pytorch-1.4.0");
    CHECK(run.value("total_ms") == 301.25);
    CHECK(run.value("forward_ms") == 100.0);
    CHECK_FALSE(run.value("backward_ms"));
    CHECK(run.doubtful());
    REQUIRE(run.notes.size() == 1);
    CHECK(run.notes[0].key == "weather");
  }
  CHECK(json.runs[0].line == 3);
  CHECK(csv.runs[0].line == 2);
}

TEST_CASE("measured run: a sequence is the symbol that the input sets, or tokens") {
  const Outcome symbol =
      record(R"("device": "t4", "model": "bert-base", "input": [128], "sequence": "sequence")");
  const Outcome tokens = record(R"("device": "t4", "model": "bert-base", "sequence": 384)");
  REQUIRE(symbol.runs.size() == 1);
  CHECK(symbol.runs[0].sequence == "sequence");
  CHECK_FALSE(symbol.runs[0].sequence_length.has_value());
  REQUIRE(tokens.runs.size() == 1);
  CHECK(tokens.runs[0].sequence_length == 384);
  CHECK(record(R"("device": "t4", "model": "bert-base", "sequence": 0)").code() == "E312");
  const Outcome seq = record(R"("device": "t4", "model": "bert-base", "seq": 128)");
  REQUIRE(seq.runs.size() == 1);
  CHECK(seq.runs[0].sequence_length == 128);
  CHECK(record(R"("device": "t4", "seq": 128, "sequence": 128)").runs.size() == 1);
  CHECK(record(R"("device": "t4", "seq": 128, "sequence": 384)").code() == "E515");
}

TEST_CASE("measured run: adapters, as sources write them and as settings do") {
  const Outcome object = record(R"("device": "t4", "finetune": {"method": "qlora", "rank": 16,
      "targets": ["q_proj", "v_proj"], "quant": "bnb.nf4-dq", "trainable": 9})");
  REQUIRE(object.runs.size() == 1);
  CHECK(object.runs[0].finetune == "qlora");
  CHECK(object.runs[0].lora_rank == 16);
  CHECK(object.runs[0].lora_targets == "q_proj,v_proj");
  CHECK(object.runs[0].quantize == "nf4-double");
  const Outcome words = record(R"("device": "t4", "finetune": "lora", "lora_rank": 4)");
  REQUIRE(words.runs.size() == 1);
  CHECK(words.runs[0].finetune == "lora");
  CHECK(words.runs[0].lora_rank == 4);
  const Outcome pattern = record(
      R"("device": "t4", "finetune": {"method": "lora", "targets": "*_proj", "quant": null})");
  REQUIRE(pattern.runs.size() == 1);
  CHECK(pattern.runs[0].lora_targets == "*_proj");
  CHECK(pattern.runs[0].quantize.empty());
}

TEST_CASE("measured run: kernels, memory and facts") {
  const Outcome gemm = record(
      R"("device": "d", "op": "gemm", "pass": "forward", "m": 5, "n": 6, "k": 7, "a_t": "N",
         "b_t": "T", "batch_count": 2, "time_ms": 0.5)",
      "kernel");
  REQUIRE(gemm.file);
  CHECK(gemm.runs[0].m == 5);
  CHECK(gemm.runs[0].a_t == false);
  CHECK(gemm.runs[0].b_t == true);
  CHECK(gemm.runs[0].batch_count == 2);
  const Outcome mlp = record(
      R"("device": "d", "model": "mlp", "input": [100], "linear_widths": [64, 32], "output": 10,
         "activation": "relu", "batchnorm": false, "dropout": true, "batch": 4,
         "nvidia_smi_mb": 1500)",
      "memory");
  REQUIRE(mlp.file);
  CHECK(mlp.runs[0].linear_widths == std::vector<int64_t>{64, 32});
  CHECK(mlp.runs[0].has_dropout == true);
  CHECK_FALSE(mlp.runs[0].dropout);
  const Outcome words = record(
      R"("device": "d", "input": "timm default", "nodes": "two", "hidden": [8, 4], "quantity": "fits",
         "dropout": 0.5)");
  REQUIRE(words.file);
  CHECK(words.runs[0].input_text == "timm default");
  CHECK(words.runs[0].hidden_widths == std::vector<int64_t>{8, 4});
  CHECK_FALSE(words.runs[0].nodes);
  CHECK(words.runs[0].notes.size() == 1);
  CHECK(words.runs[0].dropout == 0.5);
  CHECK(words.runs[0].measured.empty());
  CHECK(record(R"("device": "d", "quantity": "utilisation", "value": 0)").file);
}

TEST_CASE("measured run: index counts every record, a record may say its own kind") {
  const Outcome two = read(R"({"kind": "model", "records": [
      {"device": "a"}, {"device": "b", "kind": "memory"}]})");
  REQUIRE(two.file);
  CHECK(two.runs[1].index == 1);
  CHECK(two.runs[1].kind == RunKind::kMemory);
  CHECK(name(two.runs[1].kind) == "memory");
  const Outcome asked = read(R"({"kind": "workspace", "records": [[1, 2]]})");
  REQUIRE(asked.file);
  CHECK(asked.file->kind == RunKind::kWorkspace);
  REQUIRE(asked.runs.size() == 1);
  CHECK(asked.runs[0].kind == RunKind::kWorkspace);
}

TEST_CASE("measured run: JSON lines, as programs append them, each on its line") {
  const std::string one = R"({"kind": "kernel", "device": "d", "op": "gemm", "m": 1})";
  const Outcome both = read(one + "\n\n" + one + "\n");
  REQUIRE(both.file);
  REQUIRE(both.runs.size() == 2);
  CHECK(both.runs[1].index == 1);
  CHECK(both.runs[1].m == 1);
  CHECK(both.runs[1].line == 3);
  const Outcome wrong = read(one + "\n" + R"({"kind": "kernel", "op": "gemm"})" + "\n");
  CHECK(wrong.code() == "E306");
  CHECK(wrong.file.error()[0].place.line == 2);
  CHECK(read(one + "\n{\"kind\": \"ker").code() == "E302");
  CHECK(read(one + "\n" + one + one + "\n").code() == "E301");
  CHECK(read(one).code() == "E306");  // one object is a file: its records are missing
}

TEST_CASE("measured run: frameworks as sources write them") {
  const auto id = [](const char* framework, const char* version) {
    MeasuredRun run;
    run.framework = framework;
    run.framework_version = version;
    return run.framework_id();
  };
  CHECK(id("PyTorch", "0.3.0") == "pytorch-0.3.0");
  CHECK(id("pytorch", "1.4 per README (not logged)") == "pytorch-1.4");
  CHECK(id("pytorch", "2.7.1+cu118") == "pytorch-2.7.1");
  CHECK(id("tensorpack", "tf 1.13.1") == "tensorflow-1.13.1");
  CHECK(id("tensorpack 0.8.0", "") == "tensorflow");
  CHECK(id("TensorFlow v1.2", "") == "tensorflow-1.2");
  CHECK(id("Keras(CNTK)", "") == "cntk");
  CHECK(id("caffe2", "2016") == "caffe2");
  CHECK(id("torch7 + optnet", "") == "torch7");
  CHECK(id("mxnet", "2016-08") == "mxnet");
  CHECK(id("pytorch", "99") == "pytorch-99");
  CHECK(id("pytorch", "v2.1") == "pytorch-2.1");
  CHECK(id("PyTorch / litgpt", "torch 2.4") == "pytorch-2.4");
  CHECK(id("torch", "2.1.0") == "pytorch-2.1.0");
  CHECK(id("Megatron-Bridge (Megatron-Core)", "NeMo 26.04.01") == "pytorch");
  CHECK(id("NeMo AutoModel (PyTorch FSDP2, TE)", "26.02") == "pytorch");
  CHECK(id("Julia - Knet", "") == "");
  CHECK(id("", "1.0") == "");
}

// Rows E1-E4, E13, E15, E16 of the catalogue of bad inputs.
TEST_CASE("measured run: bad files are refused by name") {
  CHECK(read("").code() == "E501");
  CHECK(read(" \n").code() == "E501");
  CHECK(read("kind,device,total_ms\n").code() == "E501");
  CHECK(read("{\"kind\": \"model\", \"records\": []}").code() == "E501");
  CHECK(read("{\"kind\": \"model\"}").code() == "E306");
  CHECK(read("[]").code() == "E331");
  for (const char* text : {"null", "3", "\"x\"", "true", " null\n"})
    CHECK(read(text, {}, "run.json").code() == "E331");
  CHECK(read("{\"kind\": \"modle\", \"records\": [{\"device\": \"d\"}]}").code() == "E502");
  CHECK(read("kind,total_ms\nmodel,1\n").code() == "E306");
  const Outcome bare = read("model,gpu,batch,peak\nbuiltin:mlp,t4,8,300\n");
  REQUIRE_FALSE(bare.file);
  CHECK(bare.file.error()[0].help.starts_with("the columns are model, gpu, batch, peak; "));
  CHECK(read("kind,device,device\nmodel,a,b\n").code() == "E510");
  CHECK(read("kind;device;total_ms\nmodel;a;1\n").code() == "E512");
  CHECK(read("kind,device,total_ms\nmodel,d\n").code() == "E511");
  CHECK(read("kind,device,total_ms\nmodel,d,\"1\n").code() == "E511");
  CHECK(read("kind,device,total_ms\nmodel,d,fast\n").code() == "E512");
  CHECK(read("kind,device,total_ms\nmodel,d,nan\n").code() == "E512");
  CHECK(read("kind,device,total_ms\nmodel,d,-1\n").code() == "E513");
  CHECK(read("kind,device,total_ms\nmodel,d,0\n").code() == "E514");
  CHECK(read("kind,device,batch\nmodel,d,1.5\n").code() == "E311");
  CHECK(read("kind,device,inplace\nlayer,d,yes\n").code() == "E512");
  CHECK(read("\x80\x02}q").code() == "E530");
  CHECK(read("PK\x03\x04").code() == "E530");
  CHECK(read("\xFF\xFEk").code() == "E302");
  CHECK(record(R"("total_ms": 1)").code() == "E306");
  CHECK(record(R"("device": "d", "total_ms": "1")").code() == "E311");
  CHECK(record(R"("device": "d", "batch": -1)").code() == "E312");
  CHECK(record(R"("device": "d", "a_t": "X")").code() == "E313");
  CHECK(record(R"("device": "d", "total_ms": 0)").code() == "E514");

  const Outcome comma = read("kind,device,total_ms\nmodel,d,\"12,9\"\n");
  REQUIRE_FALSE(comma.file);
  CHECK(comma.file.error()[0].help == "write a decimal point, not a comma");
  const Outcome ragged = read("kind,device,total_ms\n\nmodel,d,1\nmodel,d\n");
  REQUIRE_FALSE(ragged.file);
  CHECK(ragged.file.error()[0].message == "2 fields, header has 3");
  CHECK(ragged.file.error()[0].place.line == 4);
}

TEST_CASE("measured run: cells that nvidia-smi leaves out, and its units") {
  const Outcome cells = read(
      "kind,device,nvidia_smi_mb,time_ms\nmemory,d,1234 MiB,[N/A]\nmemory,d,[Not Supported],\n");
  REQUIRE(cells.file);
  CHECK(cells.file->missing_cells == 2);
  CHECK(cells.runs[0].value("nvidia_smi_mb") == 1234.0);
  CHECK(cells.runs[1].measured.empty());
  CHECK(read("kind,device,nvidia_smi_mb\nmemory,d,1234 GiB\n").code() == "E512");
}

TEST_CASE("measured run: rows are limited") {
  Limits limits;
  limits.rows = 2;
  CHECK(read("kind,device\nmodel,d\nmodel,d\n", limits).file);
  CHECK(read("kind,device\nmodel,d\nmodel,d\nmodel,d\n", limits).code() == "E816");
}

TEST_CASE("measured run: names of other programs are read as keys, and told") {
  const Outcome trainer = record(
      R"("gpu": "t4", "model": "gpt2", "per_device_train_batch_size": 4, "bf16": true,
         "gradient_accumulation_steps": 8, "optim": "adamw_torch_fused", "max_seq_length": 512,
         "gradient_checkpointing": true, "fp16": false, "step_time_s": 0.5)");
  REQUIRE(trainer.runs.size() == 1);
  const MeasuredRun& run = trainer.runs[0];
  CHECK(run.device == "t4");
  CHECK(run.micro_batch == 4);
  CHECK(run.accumulation == 8);
  CHECK(run.optimizer == "adamw_torch_fused");
  CHECK(run.sequence_length == 512);
  CHECK(run.dtype == "amp-bf16");
  CHECK(run.checkpoint == "full");
  CHECK(run.value("total_ms") == 500.0);
  CHECK(run.notes.empty());
  REQUIRE(trainer.file->warnings.size() == 1);
  CHECK(trainer.file->warnings[0].message.find("optim is optimizer") != std::string::npos);

  const Outcome table = read(
      "kind,gpu_name,model,batch_size,image_size,channels_last,num_gpus,max_memory_allocated_gb\n"
      "memory,Tesla T4,resnet50,8,192,true,2,1.5\n");
  REQUIRE(table.runs.size() == 1);
  CHECK(table.runs[0].batch == 8);
  CHECK(table.runs[0].input == std::vector<int64_t>{3, 192, 192});
  CHECK(table.runs[0].layout == "nhwc");
  CHECK(table.runs[0].n_gpus == 2);
  CHECK(table.runs[0].value("peak_allocated_gb") == 1.5);

  const Outcome deepspeed = record(
      R"("device": "t4", "model": "gpt2", "train_micro_batch_size_per_gpu": 2, "zero": 3,
         "world_size": 8, "attn_implementation": "flash_attention_2")");
  REQUIRE(deepspeed.runs.size() == 1);
  CHECK(deepspeed.runs[0].micro_batch == 2);
  CHECK(deepspeed.runs[0].n_gpus == 8);
  CHECK(deepspeed.runs[0].attention == "flash_attention_2");
}

TEST_CASE("measured run: a switch of another program may have a word of the key's own") {
  const auto run = [](const std::string& member) {
    const Outcome outcome = record(R"("device": "t4", )" + member);
    REQUIRE(outcome.runs.size() == 1);
    return outcome.runs[0];
  };
  CHECK(run(R"("activation_checkpointing": "full")").checkpoint == "full");
  CHECK(run(R"("activation_checkpointing": "selective")").checkpoint == "selective");
  CHECK(run(R"("activation_checkpointing": "none")").checkpoint.empty());
  CHECK(run(R"("gradient_checkpointing": 1)").checkpoint == "full");
  CHECK(run(R"("gradient_checkpointing": "False")").checkpoint.empty());
  CHECK(run(R"("torch_compile": "reduce-overhead")").compiled == true);
  CHECK(run(R"("bf16": "yes")").dtype == "amp-bf16");
}

TEST_CASE("measured run: two names of one key may not contradict each other") {
  CHECK(record(R"("device": "t4", "batch": 8, "batch_size": 8)").runs.size() == 1);
  CHECK(record(R"("device": "t4", "batch": 8, "batch_size": 16)").code() == "E515");
  CHECK(record(R"("device": "t4", "seq": 8, "max_length": 16)").code() == "E515");
  CHECK(record(R"("device": "t4", "gradient_accumulation_steps": 2, "grad_accum": 4)").code() ==
        "E515");
}

TEST_CASE("measured run: what another program does that is not read here changes the run") {
  for (const char* members :
       {R"("load_in_4bit": true)", R"("cpu_offload": true)", R"("tensor_parallel_size": 2)",
        R"("expert_parallel": 4)", R"("ema": true)", R"("use_liger_kernel": true)",
        R"("offload_optimizer": "cpu")", R"("amp": true)", R"("frozen": "backbone")",
        R"("strategy": "fsdp")", R"("num_classes": 10)"}) {
    const Outcome outcome = record(R"("device": "t4", )" + std::string(members));
    REQUIRE(outcome.runs.size() == 1);
    CHECK_FALSE(changing_key(outcome.runs[0]).empty());
  }
  for (const char* members : {R"("load_in_4bit": false)", R"("tensor_parallel_size": 1)",
                              R"("ema": false)", R"("offload_optimizer": "none")"}) {
    const Outcome outcome = record(R"("device": "t4", )" + std::string(members));
    REQUIRE(outcome.runs.size() == 1);
    CHECK(changing_key(outcome.runs[0]).empty());
  }
}
