// Exports of experiment trackers as measured runs.
#include "hwdb/measured/tracker.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hwdb/measured/reader.h"

using namespace plimsoll;

namespace {

struct Export {
  std::vector<MeasuredRun> runs;
  Diagnostics warnings;
};

Export read_export(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const ByteSource source = ByteSource::of("runs.csv", {bytes, bytes + text.size()});
  Export out;
  auto file = read_measured(source, [&](MeasuredRun&& run) { out.runs.push_back(std::move(run)); });
  REQUIRE(file);
  out.warnings = file->warnings;
  return out;
}

bool has_note(const MeasuredRun& run, std::string_view key) {
  for (const JsonMember& note : run.notes) {
    if (note.key == key) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("tracker: MLflow's table of runs, in the units of its columns") {
  const Export found = read_export(
      ",run_id,status,params.per_device_train_batch_size,params.gradient_accumulation_steps,"
      "params.model_name_or_path,params.optim,params.bf16,params.fp16,metrics.loss,"
      "metrics.train_steps_per_second,metrics.max_memory_allocated,"
      "metrics.system/gpu_0_memory_usage_megabytes,tags.mlflow.user\n"
      "0,ab12,FINISHED,8,2,Qwen/Qwen3-8B,adamw_torch_fused,False,True,0.31,4,2147483648,1048.576,"
      "someone\n"
      "1,ab13,FAILED,8,,,,True,False,nan,,,,\n");
  REQUIRE(found.runs.size() == 2);
  const MeasuredRun& run = found.runs[0];
  CHECK(run.kind == RunKind::kModel);
  CHECK(run.micro_batch == 8);
  CHECK(run.accumulation == 2);
  CHECK(run.model == "hf:Qwen/Qwen3-8B");
  CHECK(run.optimizer == "adamw_torch_fused");
  CHECK(run.dtype == "amp-fp16");
  CHECK(run.loss.empty());  // a figure, not the loss's name
  CHECK(run.value("total_ms") == 250.0);
  CHECK(run.value("peak_allocated_bytes") == 2147483648.0);
  CHECK(*run.value("device_used_mb") == doctest::Approx(1000));
  CHECK_FALSE(has_note(run, "run_failed"));
  CHECK(found.runs[1].dtype == "amp-bf16");
  CHECK(found.runs[1].model.empty());
  CHECK(has_note(found.runs[1], "run_failed"));
  REQUIRE(found.warnings.size() == 1);
  CHECK(found.warnings[0].message.find("params.optim is optimizer") != std::string::npos);
}

TEST_CASE("tracker: the runs table of Weights & Biases") {
  const Export found = read_export(
      "Name,State,User,GPU Type,batch_size,config.arch,precision,step_time_s,peak_allocated_gb,"
      "weight_decay,lora_r\n"
      "bright-sun-1,finished,someone,NVIDIA A100-SXM4-40GB,64,resnet50,amp-fp16,0.25,10.5,0.01,\n"
      "bright-sun-2,crashed,someone,NVIDIA A100-SXM4-40GB,64,resnet50,amp-fp16,,,0.01,16\n");
  REQUIRE(found.runs.size() == 2);
  const MeasuredRun& run = found.runs[0];
  CHECK(run.device == "NVIDIA A100-SXM4-40GB");
  CHECK(run.batch == 64);
  CHECK(run.model == "resnet50");
  CHECK(run.dtype == "amp-fp16");
  CHECK(run.value("total_ms") == 250.0);
  CHECK(run.value("peak_allocated_gb") == 10.5);
  CHECK_FALSE(run.weight_decay);  // a rate there, a switch here
  CHECK(has_note(found.runs[1], "run_failed"));
  CHECK(has_note(found.runs[1], "technique"));
}

TEST_CASE("tracker: seconds of a step, under the names that trainers give them") {
  for (const char* column : {"train/step_time", "step_time", "summary.train/step_time"}) {
    CAPTURE(std::string(column));
    const Export found =
        read_export("Name,State,GPU Type,batch_size,config.arch," + std::string(column) +
                    "\na,finished,NVIDIA L4,8,resnet50,0.25\n");
    REQUIRE(found.runs.size() == 1);
    CHECK(found.runs[0].value("total_ms") == 250.0);
  }
}

TEST_CASE("tracker: a column whose name says more is the one that is read") {
  const TrackerTable table({"run_id", "params.batch_size", "params.train_batch_size",
                            "metrics.step_time_ms", "metrics.train_steps_per_second"});
  REQUIRE(table.is_export());
  CHECK(table.columns() == std::vector<std::string>{"run_id", "batch", "params.train_batch_size",
                                                    "total_ms", "metrics.train_steps_per_second"});
}

TEST_CASE("tracker: a table of measured runs is none") {
  CHECK_FALSE(TrackerTable({"kind", "device", "model", "batch", "nvidia_smi_mb"}).is_export());
  CHECK_FALSE(TrackerTable({"run_id", "batch"}).is_export());
}
