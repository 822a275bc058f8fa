#include "estimator/app/html/difference_page.h"

#include <fmt/format.h>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/human.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

std::string headline_of(const AnswerDifference& d) {
  if (!d.limits.empty()) return d.passed() ? "PASSED" : "FAILED";
  return d.figures.empty() ? "NO FIGURE DIFFERS"
                           : fmt::format("{} FIGURES DIFFER", d.figures.size());
}

void write_head(Markup& out, const AnswerDifference& d) {
  out.open("header", {{"class", "answer"}});
  out.element("p", fmt::format("{} against {}", shortened(d.file_b, 80), shortened(d.file_a, 80)));
  out.open("h1").element("span", headline_of(d),
                         {{"class", d.passed() ? "verdict fits" : "verdict does_not_fit"}});
  out.close();
  for (const LimitCheck& check : d.limits)
    out.element("p", limit_text(check), {{"class", check.exceeded ? "notice" : "passed"}});
  if (!d.reason.empty()) out.element("p", d.reason);
  out.close();
}

void write_questions(Markup& out, const AnswerDifference& d) {
  open_section(out, "asked", "Differences between the requests",
               d.request.empty() ? "Every setting is the same." : "");
  if (!d.request.empty()) {
    HtmlTable table(out, "Settings", {{"setting"}, {"before"}, {"after"}});
    for (const RequestDifference& r : d.request)
      table.row().cell(shortened(r.setting, 60)).cell(setting_text(r.a)).cell(setting_text(r.b));
    table.end();
  }
  out.close();
}

void write_figures(Markup& out, const AnswerDifference& d) {
  open_section(out, "figures", "Figures that differ",
               d.figures.empty() ? "No figure differs." : "");
  if (!d.figures.empty()) {
    HtmlTable table(out, "Figures",
                    {{"figure"}, {"before", true}, {"after", true}, {"change", true}});
    for (const FigureDifference& figure : d.figures) {
      table.row().cell(figure.title);
      for (const int64_t value : {figure.a, figure.b}) {
        if (figure.figure.ends_with("bytes")) {
          table.bytes(value);
        } else if (figure.figure.ends_with("_ns")) {
          table.time(value);
        } else {
          table.count(value);
        }
      }
      figure.a == 0 ? table.cell("new") : table.percent(share_of(figure.b, figure.a) - 1);
    }
    table.end();
  }
  out.close();
}

void write_basis(Markup& out, std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out.element("h3", title).open("ul");
  for (const std::string& line : lines) out.element("li", shortened(line, 400));
  out.close();
}

}  // namespace

std::string difference_page(const AnswerDifference& d, const std::string& command) {
  Markup body;
  write_head(body, d);
  write_questions(body, d);
  write_figures(body, d);
  if (!d.basis_a.empty() || !d.basis_b.empty()) {
    open_section(body, "notes", "Notes", "");
    write_basis(body, "Only before: where figures come from", d.basis_a);
    write_basis(body, "Only after: where figures come from", d.basis_b);
    body.close();
  }
  return to_html({.title = fmt::format("Two answers: {}", headline_of(d)),
                  .body = body.take(),
                  .json = to_json(d),
                  .command = command});
}

}  // namespace plimsoll
