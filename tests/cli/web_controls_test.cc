// What is moved and swept on the web page is answered, by mouse and keyboard; no labels lie over
// each other, and the page is small.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/web_page.h"

namespace plimsoll::test {
namespace {

// A slider's next stop, and the answer to it: by the page's clock, milliseconds from the input to
// the answer that is drawn.
double move(Browser& browser, const std::string& label, int steps) {
  browser.evaluate(
      "(() => { document.body.dataset.drawn = 'false'; const slider = "
      "document.querySelector('input[type=range][aria-label^=\"" +
      label + "\"]'); slider.value = String(Number(slider.value) + " + std::to_string(steps) +
      "); const began = performance.now(); new MutationObserver((changes, observer) => { if "
      "(document.body.dataset.drawn !== 'true') return; window.took = performance.now() - began; "
      "observer.disconnect(); }).observe(document.body, { attributes: true, attributeFilter: "
      "['data-drawn'] }); slider.dispatchEvent(new Event('input', { bubbles: true })); })()");
  wait_until_drawn(browser);
  return browser.evaluate("window.took");
}

// Until the page has been laid out once more, and its observers of sizes were called.
constexpr const char* kNextFrame =
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";

// The least of them that a share of `most` does not exceed.
double quantile(std::vector<double> times, double most) {
  std::ranges::sort(times);
  return times[static_cast<size_t>(std::ceil(most * static_cast<double>(times.size()))) - 1];
}

}  // namespace

TEST_CASE("web: sliders are followed, within the time that a page has") {
  if (without_web_page()) return;
  constexpr double kMostSeconds = 0.1;  // of a processor, for an answer and its drawing
  Browser browser;
  for (const std::string model : {"builtin:resnet50", "builtin:gpt2", "hf:llama-3.1-8b"}) {
    CAPTURE(model);
    ask(browser, {{"model", model}, {"gpu", "h200"}, {"batch", "1"}});
    const auto before = answer_of(browser)["result"]["time"]["step_ns"].get<int64_t>();
    move(browser, "batch", 1);
    CHECK(answer_of(browser)["input"]["batch"] == 2);
    CHECK(answer_of(browser)["result"]["time"]["step_ns"].get<int64_t>() > before);
    constexpr int kMoves = 20;
    std::vector<double> times;
    const double began = browser.processor_seconds();
    for (int i = 0; i < kMoves; ++i) times.push_back(move(browser, "batch", i % 10 < 5 ? 1 : -1));
    const double each = (browser.processor_seconds() - began) / kMoves;
    // The clock is the machine's, which may have other work: only the processor's time is a limit.
    MESSAGE(model << ": " << each * 1e3
                  << " ms of a processor for a move; by the clock 95 % within "
                  << quantile(times, 0.95) << " ms");
    CHECK(each < kMostSeconds);
    CHECK(answer_of(browser)["input"]["batch"] == 2);
    CHECK(browser.evaluate("document.querySelectorAll('.roofline .dot').length") > 2);
    CHECK(browser.evaluate("document.querySelectorAll('.roofline .name').length") > 2);
  }
  ask(browser, {{"model", "hf:llama-3.2-1b"}, {"gpu", "h100-sxm-80gb"}, {"precision", "bf16"}});
  move(browser, "sequence", -1);
  CHECK(answer_of(browser)["input"]["symbols"]["sequence"] == 1536);
  move(browser, "GPUs", 3);
  move(browser, "tensor parallel", 1);
  const auto axes = answer_of(browser)["result"]["parallel"]["axes"];
  CHECK(axes["tp"] == 2);
  CHECK(browser.evaluate("document.querySelectorAll('.lane').length") > 1);
}

TEST_CASE("web: a sweep has the verdicts, the times and the largest batches of the command") {
  if (without_web_page()) return;
  const Scratch scratch;
  Browser browser;
  ask(browser, {{"model", "builtin:gpt2"},
                {"gpu", "l4"},
                {"view", "sweep"},
                {"sweep_down_values", "tesla-t4, h100-sxm-80gb, none-such"},
                {"sweep_across_values", "1, 32, 256"}});
  browser.wait("document.body.dataset.swept === 'true'");
  const auto cells = browser.evaluate(
      "[...document.querySelectorAll('.heat tbody tr')].map((tr) => [...tr.cells].map((c) => "
      "[c.className, c.textContent, c.querySelector('button')?.title ?? '']))");
  const std::map<std::string, std::string> kinds = {
      {"fits", "yes"}, {"may_fit", "perhaps"}, {"does_not_fit", "no"}};
  const char* const gpus[] = {"tesla-t4", "h100-sxm-80gb"};
  const char* const batches[] = {"1", "32", "256"};
  for (size_t line = 0; line < 2; ++line) {
    for (size_t column = 0; column < 3; ++column) {
      const auto result = command_answer(
          {"estimate", "builtin:gpt2", "--gpu", gpus[line], "--batch", batches[column], "--json"},
          scratch)["result"];
      const auto& cell = cells[line][column + 1];
      CAPTURE(cell.dump());
      CHECK(says(cell[0], kinds.at(result["verdict"])));
      const std::string step =
          browser.evaluate("marks.time(" + result["time"]["step_ns"].dump() + ")");
      CHECK(says(cell[2], step));
    }
    const auto largest = command_answer(
        {"max-batch", "builtin:gpt2", "--gpu", gpus[line], "--json"}, scratch)["result"]["safe"];
    CHECK(cells[line][4][1] == largest.dump());
  }
  CHECK(says(cells[2][1][1], "E140"));
  CHECK(browser.evaluate("document.querySelectorAll('.heat .end').length") == 2);
  CHECK(says(text_of(browser, "#sweep > div"), "Best for each GPU"));
  CHECK(browser.console() == "");
  // A cell is a question of its own.
  browser.evaluate(
      "document.querySelector('.heat tbody tr:nth-child(2) td:nth-child(3) button').click()");
  browser.wait(
      "document.querySelector('#sweep').hidden && "
      "document.querySelector('h1')?.textContent.includes('H100')");
  CHECK(answer_of(browser)["input"]["batch"] == 32);
}

TEST_CASE("web: a sweep leaves the page free, and goes over what is chosen") {
  if (without_web_page()) return;
  Browser browser;
  ask(browser, {{"model", "hf:llama-3.2-1b"},
                {"gpu", "h200"},
                {"view", "sweep"},
                {"sweep_down", "dim.sequence"}});
  browser.wait("document.querySelectorAll('.heat tbody button').length > 0");
  // Before it is done: a move has its answer.
  CHECK(browser.evaluate("document.body.dataset.swept") == "false");
  move(browser, "batch", 1);
  browser.wait("document.body.dataset.swept === 'true'", 120);
  CHECK(browser.evaluate("document.querySelectorAll('.heat tbody tr').length") > 4);
  CHECK(says(text_of(browser, ".heat tbody th"), "sequence"));
  // The longer the sequence, the smaller the largest batch.
  const auto largest = browser.evaluate(
      "[...document.querySelectorAll('.heat .largest')].map((c) => "
      "Number(c.textContent.replace(',', '')) || 0)");
  CHECK(std::ranges::is_sorted(largest.get<std::vector<int64_t>>(), std::ranges::greater()));
}

TEST_CASE("web: controls have names, and the keyboard reaches and moves them") {
  if (without_web_page()) return;
  Browser browser;
  ask(browser, {{"model", "builtin:resnet50"}, {"gpu", "rtx-4090"}});
  CHECK(browser.evaluate(
            "[...document.querySelectorAll('input, select, textarea, button')].filter((e) => "
            "!(e.labels?.length && e.labels[0].textContent.trim()) && "
            "!e.getAttribute('aria-label') && "
            "!e.textContent.trim()).map((e) => e.name || e.outerHTML)") == nlohmann::json::array());
  browser.evaluate("document.querySelector('[name=batch]').focus()");
  browser.press("Tab");
  CHECK(says(browser.evaluate("document.activeElement.getAttribute('aria-label')"), "batch"));
  browser.evaluate("document.body.dataset.drawn = 'false'");
  const auto before = answer_of(browser)["input"]["batch"].get<int64_t>();
  browser.press("ArrowRight");
  wait_until_drawn(browser);
  CHECK(answer_of(browser)["input"]["batch"].get<int64_t>() > before);
  browser.evaluate("document.querySelector('#to-answer').focus()");
  browser.press("ArrowRight");
  CHECK(browser.evaluate("document.activeElement.id + document.querySelector('#sweep').hidden") ==
        "to-sweepfalse");
  browser.evaluate(
      "document.body.dataset.drawn = 'false'; document.querySelector('#to-answer').click()");
  wait_until_drawn(browser);
  browser.wait(
      "!document.querySelector('#answer').hidden && document.querySelector('#answer .scroll') !== "
      "null");
  browser.evaluate("document.querySelector('#answer .scroll').closest('details').open = true");
  browser.evaluate("document.querySelector('#answer .scroll').focus()");
  CHECK(says(browser.evaluate("document.activeElement.className"), "scroll"));
}

TEST_CASE("web: no label lies over another, on a phone, on a desk, on paper") {
  if (without_web_page()) return;
  const Question questions[] = {
      {{"model", "hf:llama-3.1-8b"}, {"gpu", "h100-sxm-80gb"}, {"batch", "1"}},
      {{"model", "builtin:resnet50"}, {"gpu", "t4"}, {"batch", "1024"}},
      {{"model", "hf:llama-3.2-1b"},
       {"gpu", "h100-sxm-80gb"},
       {"gpus", "8"},
       {"tp", "2"},
       {"pp", "2"},
       {"micro_batches", "4"},
       {"batch", "4"}},
      {{"model", "builtin:gpt2"},
       {"gpu", "t4"},
       {"view", "sweep"},
       {"sweep_down_values", "l4, h200"}}};
  const std::string overlaps = detail::text_of(PLIMSOLL_SOURCE_DIR "/tests/cli/web_overlaps.js");
  Browser browser;
  for (const Question& question : questions) {
    for (const int width : {390, 1280}) {
      ask(browser, question, width);
      if (question[2].second == "sweep") browser.wait("document.body.dataset.swept === 'true'");
      for (const std::string medium : {"screen", "print"}) {
        for (const std::string scheme : {"light", "dark"}) {
          browser.emulate(medium, scheme);
          browser.evaluate(kNextFrame);  // what the page draws when a size changes is drawn
          CAPTURE(link_of(question));
          CAPTURE(width);
          CAPTURE(medium);
          CAPTURE(scheme);
          CHECK(browser.evaluate(overlaps) == "");
        }
      }
      browser.emulate("screen", "light");
    }
  }
}

TEST_CASE("web: the page is small") {
  if (without_web_page()) return;
  constexpr uintmax_t kMost = 6'000'000;
  const std::string page = detail::text_of(web_page());
  const std::string begin = "id=\"engine\">";
  const size_t at = page.find(begin) + begin.size();
  const size_t engine = page.find('<', at) - at;  // in base64, of what is compressed already
  CHECK(engine / 4 * 3 + (page.size() - engine) < kMost);
}

}  // namespace plimsoll::test
