// Pages in Chromium, on a desk, on a phone, in the dark and on paper: no text lies over another or
// beside the page, all can be read, tables that scroll say so; and the slider of batches shows what
// was answered.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/page_in_frame.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

std::string script_named(const std::string& file) {
  return detail::text_of(std::string(PLIMSOLL_SOURCE_DIR) + "/tests/cli/" + file);
}

// Empty where this build draws no charts, which is told.
std::string page_of(const Scratch& scratch, std::vector<std::string> arguments) {
  const std::string page = scratch.path("page.html");
  arguments.insert(arguments.end(), {"--html", page, "--force"});
  const Ran ran = run_plimsoll(arguments);
  CAPTURE(ran.err);
  REQUIRE(ran.status <= 1);
  std::string text = detail::text_of(page);
  if (says(text, "id=\"vega\"")) return text;
  not_run("plimsoll was built without Vega, which could not be fetched");
  return "";
}

json result_in(const std::string& page) {
  const std::string mark = "id=\"plimsoll-result\">";
  const size_t begin = page.find(mark) + mark.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("page layout: nothing lies over anything, wherever it is read") {
  if (without_browser()) return;
  const Scratch scratch;
  const std::string root = PLIMSOLL_SOURCE_DIR;
  const std::vector<std::vector<std::string>> questions = {
      {"estimate", "builtin:resnet50", "--gpu", "rtx-4090", "--batch", "128"},
      {"estimate", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "16384"},
      {"max-batch", "builtin:resnet50", "--gpu", "tesla-t4"},
      {"compare", "builtin:resnet50", "builtin:vit_b_16", "--gpu", "t4", "--gpu", "l4", "--gpu",
       "a100", "--price", "t4=0.35", "--batch", "64"},
      {"advise", "builtin:gpt2", "--gpu", "l4", "--gpus", "4"},
      {"sweep", root + "/examples/sweep.yaml", "--price", "rtx-4090=0.7"},
      {"validate", root + "/examples/measured-runs.csv"},
  };
  const std::string faults = script_named("page_faults.js");
  constexpr int kDesk = 1280, kPhone = 390, kPaper = 695;  // A4 less its margins, at 96 a inch
  for (const auto& question : questions) {
    CAPTURE(question.front());
    const std::string page = page_of(scratch, question);
    if (page.empty()) return;
    CHECK(told_in_frame(scratch, page, faults, kDesk) == "faults: none");
    CHECK(told_in_frame(scratch, page, faults, kPhone, Look::kDark) == "faults: none");
    CHECK(told_in_frame(scratch, page, faults, kPaper, Look::kPrint) == "faults: none");
  }
}

TEST_CASE("page layout: what the test looks for is found") {
  if (without_browser()) return;
  const Scratch scratch;
  const std::string page =
      "<html data-drawn=true><meta content=\"script-src x;\"><style>@media print {}</style><body>"
      "<p style='position:absolute;top:0;left:0'>one</p><p "
      "style='position:absolute;top:0;left:2px'>"
      "two</p><p style='color:#ccc'>pale</p><div class=scroll style='overflow-x:auto' "
      "aria-label=wide><div style='width:3000px'>-</div></div></body></html>";
  const std::string told = told_in_frame(scratch, page, script_named("page_faults.js"), 390);
  for (const char* what : {"one | two", "faint: pale", "scrolls in silence: wide"})
    CHECK(says(told, what));
}

TEST_CASE("page layout: the slider shows each batch as it was answered") {
  if (without_browser()) return;
  const Scratch scratch;
  const std::string page =
      page_of(scratch, {"estimate", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "100"});
  if (page.empty()) return;
  const std::string script = R"js((() => {
    const wait = () => {
      const slider = document.getElementById("size-slider");
      if (document.documentElement.dataset.drawn !== "true" || !slider) return void setTimeout(wait, 100);
      const told = () => document.querySelector(".slider output").textContent;
      const first = told();
      slider.value = slider.max;
      slider.dispatchEvent(new Event("input"));
      setTimeout(() => parent.postMessage([first, told(), document.querySelectorAll("#chart-batch_parts .mark-rect path").length].join("\n"), "*"), 500);
    };
    wait();
  })();)js";
  const std::string told = told_in_frame(scratch, page, script, 1280);
  CAPTURE(told);
  CHECK(says(told, "FITSbatch 100: "));
  const json rounds = result_in(page)["result"]["batches"]["rounds"];
  const json& last = rounds.back();
  CHECK(says(told, "batch " + std::to_string(last["batch"].get<int64_t>()) + ": "));
  const std::string bars = told.substr(told.rfind('\n') + 1);
  CHECK(std::stoul(bars) >= last["parts"].size());
  for (const json& r : rounds) {
    int64_t sum = 0;
    for (const json& p : r["parts"]) sum += p["bytes"].get<int64_t>();
    CHECK(sum == r["device_bytes"]);
  }
}
