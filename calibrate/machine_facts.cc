#include "calibrate/machine_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/run_record.h"
#include "estimator/library/workspace/tables.h"
#include "graph/json/read_fields.h"
#include "graph/json/writer.h"
#include "hwdb/measured/kernel.h"

namespace plimsoll::calibrate {
namespace {

const JsonValue* noted(const MeasuredRun& run, std::string_view key) {
  const auto at = std::ranges::find(run.notes, key, &JsonMember::key);
  return at == run.notes.end() ? nullptr : &at->value;
}

// As cuDNN's answer on the card, its first plan in front.
std::string answer_line(const ConvQuestion& question, const MeasuredRun& run,
                        std::vector<AskedPlan> plans) {
  WorkspaceChoice first{.basis = WorkspaceBasis::kAsked};
  first.plan.algorithm = algorithm_of(plans.front(), question.pass);
  first.plan.preference = 0;
  AskedAnswer answer{.question = question,
                     .gpu = run.device,
                     .cudnn = run.cudnn,
                     .framework = "ideal",
                     .on_card = true,
                     .plans = std::move(plans),
                     .error = {}};
  return line_of(answer, first);
}

constexpr const char* kMeasured = "measured by plimsoll-calibrate run";

void write_host_figure(JsonWriter& out, const char* key, const std::string& value) {
  out.key(key).begin_object().key("value").string(value);
  out.key("source").string(kMeasured).end_object();
}

// A framework that costs nothing leaves what the driver takes of a launch.
void write_dispatch(JsonWriter& out, double launch) {
  out.key("dispatch").begin_array().begin_object();
  out.key("framework").string("ideal").key("since").string("0");
  out.key("per_launch").string(fmt::format("{:.2f} us", launch * 1e6));
  out.key("per_step").string("0 us").key("per_array").string("0 us");
  out.key("gpu_factor").integer(1).key("source").string(kMeasured);
  out.end_object().end_array();
}

}  // namespace

Result<void> MachineFacts::add(const MeasuredRun& run) {
  if (const auto value = run.value("value"); run.kind == RunKind::kMemory && value)
    figures_[run.quantity] = *value;
  const JsonValue* offers = noted(run, "offers");
  if (run.kind != RunKind::kKernel || !offers) return {};
  return add_offers(run, *offers);
}

Result<void> MachineFacts::add_offers(const MeasuredRun& run, const JsonValue& offers) {
  Diagnostics faults;
  JsonValue note;
  note.data = JsonValue::Members{{.key = "offers", .value = offers}};
  JsonObject object(note, "a record's offers", faults);
  ReadFields fields(object);
  std::vector<TimedOffer> timed;
  fields("offers", timed);
  if (has_error(faults)) return tl::make_unexpected(faults);
  const JsonValue* taken = noted(run, "taken");
  const auto place = taken ? taken->integer().value_or(-1) : -1;
  const bool computes = run.op == "conv" || run.op == "gemm";
  if (computes && place >= 0 && static_cast<size_t>(place) < timed.size()) {
    const auto clock = timed[static_cast<size_t>(place)].state.sm_clock_hz;
    if (clock && *clock > 0) clocks_.push_back(*clock);
  }
  std::vector<AskedPlan> plans;
  for (const TimedOffer& offer : timed) {
    if (offer.offer.plan) plans.push_back(*offer.offer.plan);
  }
  auto kernel = kernel_of(run);
  if (plans.empty() || !kernel) return {};
  auto question = conv_question(*kernel);
  if (!question) return {};
  question->problem.channels_last = run.layout == "nhwc";
  workspaces_[text_of(*question)] = answer_line(*question, run, std::move(plans));
  return {};
}

void MachineFacts::complete(Machine& machine, const std::string& gpu) const {
  if (!clocks_.empty()) {
    std::vector<double> clocks = clocks_;
    const auto middle = clocks.begin() + static_cast<ptrdiff_t>(clocks.size() / 2);
    std::ranges::nth_element(clocks, middle);
    machine.clock = *middle;
  }
  for (const auto& [question, line] : workspaces_) machine.workspaces.push_back(line);
  machine.context_bytes = static_cast<int64_t>(figure("context_bytes", 1, 1e12));
  machine.host = host_file(gpu);
}

// 0 where it is not told, or is beyond what a machine file may say, which is no measurement.
double MachineFacts::figure(const char* name, double low, double high) const {
  const auto at = figures_.find(name);
  return at == figures_.end() || at->second < low || at->second > high ? 0 : at->second;
}

std::string MachineFacts::host_file(const std::string& gpu) const {
  const double pageable = figure("pageable_copy", 1e8, 1e12);
  const double pinned = figure("pinned_copy", 1e8, 1e12);
  const double launch = figure("launch", 1e-8, 1e-2), cores = figure("host_cores", 1, 4096);
  if (pageable <= 0 && pinned <= 0 && launch <= 0 && cores <= 0) return {};
  JsonWriter out;
  out.begin_object().key("schema").string("plimsoll.host").key("version").integer(1);
  out.key("id").string("measured").key("aliases").begin_array().end_array();
  out.key("name").string("the machine around this " + gpu);
  if (pageable > 0)
    write_host_figure(out, "pageable_copy", fmt::format("{:.2f} GB/s", pageable / 1e9));
  if (pinned > 0) write_host_figure(out, "pinned_copy", fmt::format("{:.2f} GB/s", pinned / 1e9));
  if (cores > 0) {
    out.key("cores").begin_object().key("value").integer(static_cast<int64_t>(cores));
    out.key("source").string(kMeasured).end_object();
  }
  if (launch > 0) write_dispatch(out, launch);
  out.end_object();
  return out.take();
}

}  // namespace plimsoll::calibrate
