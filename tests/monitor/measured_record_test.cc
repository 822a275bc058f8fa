#include "monitor/measured_record.h"

#include <doctest/doctest.h>

#include <span>

#include "estimator/app/validate/measured_request.h"
#include "estimator/settings/given_settings.h"
#include "estimator/settings/records.h"
#include "hwdb/measured/reader.h"

using namespace plimsoll::monitor;
using plimsoll::MeasuredRun;

namespace {

MeasuredRun read_back(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  const auto source = plimsoll::ByteSource::of("run.json", {bytes.begin(), bytes.end()});
  std::vector<MeasuredRun> runs;
  const auto file =
      plimsoll::read_measured(source, [&](MeasuredRun&& run) { runs.push_back(std::move(run)); });
  REQUIRE(file);
  REQUIRE(runs.size() == 1);
  return runs.front();
}

plimsoll::Request described() {
  plimsoll::GivenSettings settings;
  settings.model = "builtin:resnet50";
  for (const auto& [name, text] : {std::pair("gpu", "tesla-t4"),
                                   {"batch", "32"},
                                   {"gpus", "2"},
                                   {"framework", "pytorch-1.13"},
                                   {"optimizer", "adam"},
                                   {"precision", "amp-fp16"},
                                   {"cudnn", "8.5"},
                                   {"cuda-graphs", ""},
                                   {"workers", "2"},
                                   {"input-gradient", "on"}})
    settings.add(*plimsoll::find_setting(name), text);
  return *to_request(settings);
}

}  // namespace

TEST_CASE("a watched run is read back by validate as the run that was described") {
  Summary summary;
  summary.device_peak = int64_t{5} << 30;
  summary.basis = DeviceBasis::kProcess;
  summary.host_peak = int64_t{3} << 30;
  const MeasuredRun run = read_back(to_measured(described(), summary));
  CHECK(run.kind == plimsoll::RunKind::kMemory);
  CHECK(run.value("nvidia_smi_mb") == 5120);
  CHECK(run.value("host_mb") == 3072);
  const auto request = plimsoll::request_of(run, {});
  REQUIRE(request);
  CHECK(request->model == "builtin:resnet50");
  CHECK(request->devices == std::vector<std::string>{"tesla-t4"});
  CHECK(request->batch == 32);
  CHECK(request->gpu_count == 2);
  CHECK(request->recipe.optimizer == plimsoll::find_optimizer("adam"));
  CHECK(request->recipe.precision == plimsoll::find_precision("amp-fp16"));
  CHECK(request->framework == "pytorch-1.13");
  CHECK(request->cudnn == "8.5");
  CHECK(request->cuda_graphs);
  CHECK(request->workers == 2);
  CHECK(request->input_gradient == true);
  CHECK(settings_without_key(described()).empty());
}

TEST_CASE("the whole card's memory is called so, and no card's is not there") {
  Summary summary;
  summary.host_peak = 1 << 20;
  CHECK(!read_back(to_measured(described(), summary)).value("nvidia_smi_mb"));
  summary.device_peak = 2 << 20;
  summary.basis = DeviceBasis::kCard;
  const MeasuredRun run = read_back(to_measured(described(), summary));
  CHECK(run.value("device_used_mb") == 2);
  CHECK(!run.value("nvidia_smi_mb"));
}

TEST_CASE("what the form has no key for is named") {
  plimsoll::Request run = described();
  run.given.insert("workspace-limit");
  run.dims["heads"] = 4;
  Summary summary;
  summary.host_peak = 1 << 20;
  CHECK(read_back(to_measured(run, summary)).has_flag("not_in_this_form: --workspace-limit"));
}
