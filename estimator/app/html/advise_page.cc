#include "estimator/app/html/advise_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/advice.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/plan_advice.h"
#include "estimator/app/report/spelling.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

void write_advice_answer(Markup& out, const std::string& about, Verdict verdict,
                         const std::string& rest) {
  out.open("header", {{"class", "answer"}}).element("p", about);
  out.open("h1")
      .element("span", headline(verdict), {{"class", fmt::format("verdict {}", name(verdict))}})
      .text(rest)
      .close();
}

std::string pace_text(double per_second, const std::string& unit) {
  return fmt::format("{} {}/s", human_number(per_second), unit);
}

void write_plan_facts(Markup& out, const PlanAdvice& a) {
  const PricedPlan& best = a.plans.front();
  out.open("dl", {{"class", "facts"}});
  write_fact(out, "the best plan", spelled(best.settings),
             fmt::format("{} an update", human_time(best.step_ns)));
  write_fact(out, "peak memory of a GPU", human_bytes(best.device_bytes),
             fmt::format("of {}", human_bytes(a.usable_bytes)));
  write_fact(out, "throughput", pace_text(best.samples_per_second, a.sample_unit),
             fmt::format("{} samples an update", a.global_batch));
  if (best.run_ns) {
    write_fact(out, "the run", run_time(*best.run_ns),
               best.run_price ? fmt::format("at a price of {}", human_number(*best.run_price))
                              : std::string());
  }
  write_fact(out, "plans", fmt::format("{}", a.counts.considered),
             fmt::format("{} of them estimated", a.counts.estimated));
  out.close();
}

void write_plan_table(Markup& out, const PlanAdvice& a) {
  HtmlTable table(out, "Plans, the fastest first",
                  {{"plan"},
                   {"verdict"},
                   {"peak", true},
                   {"low", true},
                   {"high", true},
                   {"stays", true},
                   {"update", true},
                   {"exchanges", true},
                   {"other stages", true},
                   {"throughput", true}},
                  {{"class", "sortable filtered"}});
  for (const PricedPlan& p : a.plans) {
    table.row().cell(spelled(p.settings)).cell(headline(p.verdict));
    table.bytes(p.device_bytes).bytes(p.device_range.low).bytes(p.device_range.high);
    table.bytes(p.persistent_bytes);
    table.time(p.step_ns).time(p.communication_ns).time(p.bubble_ns);
    table.cell(human_number(p.samples_per_second), p.samples_per_second);
  }
  table.end();
}

void write_crossings(Markup& out, const PlanAdvice& a) {
  if (a.crossings.empty()) return;
  open_section(out, "crossings", "What crosses which link", "Of the best plan.");
  HtmlTable table(out, "Exchanges by axis",
                  {{"axis"}, {"ranks", true}, {"in a machine", true}, {"over"}, {"what"}});
  for (const Crossing& c : a.crossings) {
    table.row().cell(c.axis).count(c.ranks).count(c.per_node);
    table.cell(c.link.empty() || c.network.empty() ? c.link + c.network
                                                   : c.link + " and " + c.network);
    table.cell(c.what);
  }
  table.end();
  out.close();
}

void write_advice_notes(Markup& out, const AnswerNotes& notes) {
  open_section(out, "notes", "Notes", "");
  write_notes(out, notes);
  out.close();
}

}  // namespace

std::string advise_page(const Advice& a, const std::string& model, const std::string& command) {
  Markup body;
  const bool any =
      std::ranges::any_of(a.stacks, [](const Remedy& r) { return r.verdict == Verdict::kFits; });
  const std::string about = fmt::format("{} on {}", shortened(model, 80), a.device_id);
  write_advice_answer(body, about, any ? Verdict::kFits : a.today.verdict,
                      fmt::format("{} of {} without changes", human_bytes(a.today.device_bytes),
                                  human_bytes(a.usable_bytes)));
  body.close();
  open_section(
      body, "remedies", "What would help",
      "Combinations of changes, the fastest first; the first bar is the run without changes.");
  write_chart(body, "remedies");
  HtmlTable table(body, "Changes",
                  {{"options"}, {"effect"}, {"verdict"}, {"peak", true}, {"step", true}},
                  {{"class", "sortable"}});
  for (const Remedy& r : a.stacks) {
    table.row().cell(spelled(r.settings)).cell(r.effect).cell(headline(r.verdict));
    table.bytes(r.device_bytes).time(r.step_ns);
  }
  table.end();
  body.close();
  write_advice_notes(body, a.notes);
  return to_html(
      {.title = "Advice: " + about, .body = body.take(), .json = to_json(a), .command = command});
}

std::string advise_page(const PlanAdvice& a, const std::string& model, const std::string& command) {
  Markup body;
  const std::string about =
      fmt::format("{} on {} x {}{}", shortened(model, 80), a.gpus, a.device_id,
                  a.nodes > 1 ? fmt::format(" in {} machines", a.nodes) : std::string());
  if (a.plans.empty()) {
    write_advice_answer(body, about, Verdict::kDoesNotFit, "no plan");
    body.close();
  } else {
    const PricedPlan& best = a.plans.front();
    write_advice_answer(body, about, best.verdict,
                        fmt::format("{} of {}, {} an update", human_bytes(best.device_bytes),
                                    human_bytes(a.usable_bytes), human_time(best.step_ns)));
    write_plan_facts(body, a);
    body.close();
    open_section(body, "plans", "Memory against throughput",
                 "No other plan that was estimated is both smaller and as fast.");
    write_chart(body, "plans");
    write_chart(body, "plan_steps");
    write_plan_table(body, a);
    body.close();
    write_crossings(body, a);
    write_lane_section(body, a.lanes);
  }
  write_advice_notes(body, a.notes);
  return to_html(
      {.title = "Plans: " + about, .body = body.take(), .json = to_json(a), .command = command});
}

}  // namespace plimsoll
