#include "calibrate/machine_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/run_record.h"
#include "estimator/memory/workspace/book.h"
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

void write_host_figure(JsonWriter& out, const char* key, const std::string& value) {
  out.key(key).begin_object().key("value").string(value);
  out.key("source").string("measured by plimsoll-calibrate run").end_object();
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
  const auto timed = read_timed_offers(offers, "a record's offers", faults);
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
  // A rate beyond what a host file may say is no measurement.
  const auto figure = [&](const char* name) {
    const auto at = figures_.find(name);
    return at == figures_.end() || at->second < 1e8 || at->second > 1e12 ? 0 : at->second;
  };
  if (figure("pageable_copy") <= 0 && figure("pinned_copy") <= 0) return;
  JsonWriter out;
  out.begin_object().key("schema").string("plimsoll.host").key("version").integer(1);
  out.key("id").string("measured").key("aliases").begin_array().end_array();
  out.key("name").string("the machine around this " + gpu);
  for (const char* copy : {"pageable_copy", "pinned_copy"}) {
    if (figure(copy) > 0)
      write_host_figure(out, copy, fmt::format("{:.2f} GB/s", figure(copy) / 1e9));
  }
  out.end_object();
  machine.host = out.take();
}

}  // namespace plimsoll::calibrate
