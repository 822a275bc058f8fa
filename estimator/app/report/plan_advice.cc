#include "estimator/app/report/plan_advice.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"

namespace plimsoll {
namespace {

TableCell run_cell(const PricedPlan& p) {
  return p.run_ns ? TableCell{run_time(*p.run_ns), std::to_string(*p.run_ns)} : TableCell{};
}

TableCell share_of_step(int64_t part, const PricedPlan& p) {
  return share_cell(share_of(part, p.step_ns));
}

// The fastest that fits; where none may, the one that needs least.
const PricedPlan& leading(const PlanAdvice& advice) {
  const PricedPlan& first = advice.plans.front();
  return first.verdict == Verdict::kDoesNotFit && advice.nearest ? advice.nearest->plan : first;
}

std::string head(const PlanAdvice& advice, const Page& page) {
  const std::string machines =
      advice.nodes > 1 ? fmt::format(" in {} machines", advice.nodes) : std::string();
  const std::string where = fmt::format("{} x {}{}", advice.gpus, advice.device_id, machines);
  if (advice.plans.empty())
    return fmt::format("{}   no plan for {} needs less than {} per GPU\n",
                       toned("DOES NOT FIT", Tone::kBad, page), where,
                       human_bytes(advice.usable_bytes));
  const PricedPlan& best = leading(advice);
  return fmt::format("{}   {}: peak {} of {}, step {}, {} {}/s\n",
                     toned(headline(best.verdict), tone_of(best.verdict), page), where,
                     human_bytes(best.device_bytes), human_bytes(advice.usable_bytes),
                     human_time(best.step_ns), human_number(best.samples_per_second),
                     advice.sample_unit);
}

std::string crossing_text(const Crossing& c) {
  std::string over = c.link;
  if (!c.network.empty()) over += (over.empty() ? "" : " and ") + c.network;
  if (over.empty()) over = "one GPU's memory";
  return fmt::format("{} {}, over {}: {}.", c.axis, c.ranks, over, c.what);
}

std::string counts_text(const PlanAdvice& advice) {
  const PlanCounts& c = advice.counts;
  std::string text =
      fmt::format("{} plans train {} samples per update.", c.considered, advice.global_batch);
  if (c.kept_too_much > 0)
    text += fmt::format(
        " In {} of them, weights, gradients and optimizer states need more memory than a GPU has.",
        c.kept_too_much);
  if (c.refused > 0) text += fmt::format(" {} are not supported.", c.refused);
  return text + fmt::format(
                    " {} were compared by the cost of one block. Of these, {} need more memory "
                    "than a GPU has, {} were estimated in full, and the others seem slower or "
                    "larger.",
                    c.compared, c.too_large, c.estimated);
}

std::string nearest_text(const NearestFit& n, int64_t nodes, const Page& page) {
  std::string text;
  if (!n.plan.settings.empty())
    text += wrapped(fmt::format("Nearest: {} is {} short.", spelled(n.plan.settings),
                                human_bytes(n.missing_bytes)),
                    page);
  if (n.gpus > 0) {
    const std::string machines = n.nodes > 1 ? fmt::format(" in {} machines", n.nodes) : "";
    text += wrapped(
        fmt::format("Fits: {} GPUs{} with {}, peak {}.", n.gpus, machines,
                    spelled(n.on_more_gpus.settings), human_bytes(n.on_more_gpus.device_bytes)),
        page);
  }
  if (n.gpus == 0 && nodes == 1)
    text += wrapped("--nodes N --network ID also tries more machines.", page);
  if (!n.device_id.empty())
    text += wrapped(
        fmt::format("Fits: {} with {}, peak {}.", n.device_id, spelled(n.on_other_device.settings),
                    human_bytes(n.on_other_device.device_bytes)),
        page);
  return text;
}

}  // namespace

std::string run_time(int64_t ns) {
  constexpr double kDay = 86400e9;
  const double days = static_cast<double>(ns) / kDay;
  return days < 2 ? human_time(ns) : fmt::format("{} days", human_number(days));
}

namespace {

// The figures of each plan, behind its name. `rate`: "tokens/s".
Table figures_of(std::span<const PricedPlan> plans, const Column& plan, const std::string& rate,
                 const std::function<std::string(size_t)>& name_of) {
  Table table({plan,
               {"peak", "device_bytes"},
               {"step", "step_ns"},
               {"run", "run_ns", Column::kFigure, 1},
               {"price", "run_price", Column::kFigure, 1},
               {rate, "samples_per_second", Column::kFigure, 2},
               {"MFU", "mfu", Column::kFigure, 1},
               {"HFU", "hfu", Column::kFigure, 2},
               {"exchange", "communication_share", Column::kFigure, 3},
               {"bubble", "bubble_share", Column::kFigure, 3},
               {"", "verdict", Column::kRemark, 4}});
  for (size_t i = 0; i < plans.size(); ++i) {
    const PricedPlan& p = plans[i];
    table.add({{name_of(i)},
               bytes_cell(p.device_bytes),
               time_cell(p.step_ns),
               run_cell(p),
               p.run_price ? number_cell(*p.run_price) : TableCell{},
               number_cell(p.samples_per_second),
               p.mfu ? share_cell(*p.mfu) : TableCell{},
               p.hfu ? share_cell(*p.hfu) : TableCell{},
               share_of_step(p.communication_ns, p),
               share_of_step(p.bubble_ns, p),
               {std::string(name(p.verdict))}},
              tone_of(p.verdict));
  }
  return table;
}

// By numbers, which flags follow: these are longer than a line.
std::string plan_list(const PlanAdvice& advice, const Page& page) {
  const std::vector<PricedPlan>& plans = advice.plans;
  const auto number = [](size_t i) { return std::to_string(i + 1); };
  const Table figures =
      figures_of(plans, {"plan", "", Column::kRemark}, advice.sample_unit + "/s", number);
  std::string text = figures.text(page, 2) + "\n";
  for (size_t i = 0; i < plans.size(); ++i)
    text += wrapped(fmt::format("{}: {}", number(i), spelled(plans[i].settings)), page);
  return text;
}

}  // namespace

Table plan_table(std::span<const PricedPlan> plans) {
  return figures_of(plans, {"plan", "flags", Column::kFlags}, "throughput",
                    [&](size_t i) { return spelled(plans[i].settings); });
}

std::string to_text(const PlanAdvice& advice, const Page& page, bool quiet, bool basis) {
  std::string text = head(advice, page);
  if (quiet) return text;
  if (!advice.plans.empty()) {
    if (const PricedPlan& best = advice.plans.front(); best.verdict != Verdict::kDoesNotFit) {
      text += "\n" + wrapped(fmt::format("best: {}", spelled(best.settings)), page);
      if (!advice.reason.empty())
        text += wrapped(fmt::format("why: {}.", spelled(advice.reason)), page);
      if (best.run_ns) {
        text += wrapped(fmt::format("run: {}{}.", run_time(*best.run_ns),
                                    best.run_price ? fmt::format(", at a price of {}",
                                                                 human_number(*best.run_price))
                                                   : std::string()),
                        page);
      }
      for (const Crossing& c : advice.crossings) text += wrapped(crossing_text(c), page);
    }
    text += "\n" + plan_list(advice, page);
  }
  text += "\n" + wrapped(counts_text(advice), page);
  for (const auto& [settings, why] : advice.refusals)
    text += wrapped(fmt::format("refused: {}", spelled(why)), page);
  if (advice.nearest) text += "\n" + nearest_text(*advice.nearest, advice.nodes, page);
  text += assumed_paragraph(advice.notes, page);
  return basis ? text + basis_text(advice.notes, page) : text;
}

std::string to_json(const PlanAdvice& advice) { return answer_text("plimsoll.advise", advice); }

}  // namespace plimsoll
