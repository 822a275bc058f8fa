// Pages in Chromium, on a desk and on a phone, light, dark and on paper: no text lies over another
// or beside the page, all can be read, tables that scroll say so; and the slider of batches shows
// what was answered.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/devtools.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

std::string script_named(const std::string& file) {
  return detail::text_of(std::string(PLIMSOLL_SOURCE_DIR) + "/tests/cli/" + file);
}

// Its path; empty where this build draws no charts, which is told.
std::string page_of(const Scratch& scratch, std::vector<std::string> arguments) {
  const std::string page = scratch.path("page.html");
  arguments.insert(arguments.end(), {"--html", page, "--force"});
  const Ran ran = run_plimsoll(arguments, {.seconds = 100});
  CAPTURE(ran.err);
  REQUIRE(ran.status <= 1);
  if (says(detail::text_of(page), "id=\"vega\"")) return page;
  not_run("plimsoll was built without Vega, which could not be fetched");
  return "";
}

void open_drawn(Browser& browser, const std::string& page, int width) {
  browser.open("file://" + page, width);
  browser.wait("document.documentElement.dataset.drawn === 'true'");
}

json result_in(const std::string& path) {
  const std::string page = detail::text_of(path);
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
      {"estimate", "builtin:gpt2", "--gpu", "l4", "--gpus", "8", "--pp", "2", "--tp", "2",
       "--micro-batches", "8", "--batch", "16", "--dim", "sequence=128"},
      {"estimate", "builtin:gpt2", "--gpu", "l4", "--mode", "serve", "--batch", "8", "--dim",
       "sequence=512"},
      {"estimate", root + "/tests/golden/steps/losses_inside.plimsoll.json.gz", "--gpu", "l4"},
      {"max-batch", "builtin:resnet50", "--gpu", "tesla-t4"},
      {"compare", "builtin:resnet50", "builtin:vit_b_16", "--gpu", "t4", "--gpu", "l4", "--gpu",
       "a100", "--price", "t4=0.35", "--batch", "64"},
      {"advise", "builtin:gpt2", "--gpu", "l4", "--gpus", "4"},
      {"advise", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "16384"},
      {"sweep", root + "/examples/sweep.yaml", "--price", "rtx-4090=0.7"},
      {"validate", root + "/examples/measured-runs.csv"},
  };
  const std::string faults = script_named("page_faults.js");
  constexpr int kDesk = 1280, kPhone = 390, kPaper = 695;  // A4 less its margins, at 96 a inch
  Browser browser;
  for (const auto& question : questions) {
    CAPTURE(question.front());
    const std::string page = page_of(scratch, question);
    if (page.empty()) return;
    for (const int width : {kDesk, kPhone, kPaper}) {
      open_drawn(browser, page, width);
      const std::string medium = width == kPaper ? "print" : "screen";
      for (const std::string scheme : {"light", "dark"}) {
        browser.emulate(medium, scheme);
        CAPTURE(width);
        CAPTURE(scheme);
        CHECK(browser.evaluate(faults) == "");
      }
      CHECK(browser.console() == "");
    }
  }
}

TEST_CASE("page layout: what the test looks for is found") {
  if (without_browser()) return;
  const Scratch scratch;
  const std::string page = scratch.write(
      "page.html",
      "<html data-drawn=true><body><p style='position:absolute;top:0;left:0'>one</p><p "
      "style='position:absolute;top:0;left:2px'>"
      "two</p><p style='color:#ccc'>pale</p><div class=scroll style='overflow-x:auto' "
      "aria-label=wide><div style='width:3000px'>-</div></div></body></html>");
  Browser browser;
  open_drawn(browser, page, 390);
  const std::string told = browser.evaluate(script_named("page_faults.js"));
  for (const char* what : {"one | two", "faint: pale", "scrolls in silence: wide"})
    CHECK(says(told, what));
}

TEST_CASE("page layout: the slider shows each batch as it was answered") {
  if (without_browser()) return;
  const Scratch scratch;
  const std::string page =
      page_of(scratch, {"estimate", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "100"});
  if (page.empty()) return;
  Browser browser;
  open_drawn(browser, page, 1280);
  browser.wait("document.getElementById('size-slider') !== null");
  const std::string told = "document.querySelector('.slider output').textContent";
  CHECK(says(browser.evaluate(told), "FITSbatch 100: "));
  browser.evaluate(
      "(() => { const slider = document.getElementById('size-slider'); slider.value = slider.max; "
      "slider.dispatchEvent(new Event('input')); })()");
  const json rounds = result_in(page)["result"]["batches"]["rounds"];
  const json& last = rounds.back();
  browser.wait(told + ".includes('batch " + std::to_string(last["batch"].get<int64_t>()) + ": ')");
  browser.wait("document.querySelectorAll('#chart-batch_parts .mark-rect path').length >= " +
               std::to_string(last["parts"].size()));
  for (const json& r : rounds) {
    int64_t sum = 0;
    for (const json& p : r["parts"]) sum += p["bytes"].get<int64_t>();
    CHECK(sum == r["device_bytes"]);
  }
}
