// The web page in Chromium: its engine's answers are the command's, nothing is asked for outside,
// what is moved, dropped and swept is answered, no labels lie over each other. Needs the page of
// `./dev web`, whose path PLIMSOLL_WEB says.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/devtools.h"

namespace plimsoll::test {
namespace {

const char* web_page() { return std::getenv("PLIMSOLL_WEB"); }

bool without_web_page() {
  if (without_browser()) return true;
  if (web_page()) return false;
  not_run("PLIMSOLL_WEB is not set; './dev test' sets it");
  return true;
}

std::string escaped_link(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string link;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      link += c;
    } else {
      link += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return link;
}

// A question's settings by name, "dim.sequence" among them.
using Question = std::vector<std::pair<std::string, std::string>>;

std::string link_of(const Question& question) {
  std::string link = "file://" + std::filesystem::absolute(web_page()).string() + "#";
  for (const auto& [name, text] : question) link += name + "=" + escaped_link(text) + "&";
  return link;
}

std::vector<std::string> command_of(const Question& question) {
  std::vector<std::string> command = {"estimate"};
  for (const auto& [name, text] : question) {
    if (name == "config") continue;
    if (name == "model") {
      command.push_back(text);
      continue;
    }
    const size_t dot = name.find('.');
    std::string flag = "--" + name.substr(0, dot);
    std::ranges::replace(flag, '_', '-');
    command.push_back(flag);
    if (text == "true") continue;
    command.push_back(dot == name.npos ? text : name.substr(dot + 1) + "=" + text);
  }
  command.push_back("--json");
  return command;
}

nlohmann::json answer_of(Browser& browser) {
  const auto text = browser.evaluate("document.getElementById('plimsoll-result').textContent");
  return nlohmann::json::parse(text.get<std::string>());
}

std::string text_of(Browser& browser, const std::string& selector) {
  return browser.evaluate("document.querySelector('" + selector + "').textContent");
}

void wait_until_drawn(Browser& browser) { browser.wait("document.body.dataset.drawn === 'true'"); }
void wait_until_helped(Browser& browser) {
  browser.wait("document.body.dataset.helped === 'true'");
}

void ask(Browser& browser, const Question& question, int width = 1280) {
  browser.open(link_of(question), width);
  wait_until_drawn(browser);
  wait_until_helped(browser);
}

// What --html adds to an answer.
nlohmann::json as_command(nlohmann::json answer) {
  auto& result = answer["result"];
  result["memory"].erase("curve");
  for (const char* of_page : {"parts", "tensors"}) result["memory"]["peak"].erase(of_page);
  result.erase("modules");
  return answer;
}

// Where two documents differ, by more than the last digits of a real number: two C libraries.
std::string difference(const nlohmann::json& a, const nlohmann::json& b,
                       const std::string& where = "") {
  constexpr double kRounding = 1e-12;
  if (a.is_number_float() && b.is_number()) {
    const double x = a, y = b;
    return std::abs(x - y) <= kRounding * std::abs(x) ? ""
                                                      : where + ": " + a.dump() + " " + b.dump();
  }
  if (a.type() != b.type() || a.size() != b.size()) return where + " is of another kind or size";
  if (a.is_structured()) {
    for (const auto& [key, value] : a.items()) {
      const bool list = a.is_array();
      if (!list && !b.contains(key)) return where + "/" + key + " is missing";
      const std::string found =
          difference(value, list ? b[std::stoul(key)] : b[key], where + "/" + key);
      if (!found.empty()) return found;
    }
    return "";
  }
  return a == b ? "" : where + ": " + a.dump() + " " + b.dump();
}

constexpr const char* kConfig =
    R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 4,
 "num_attention_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16"})";

}  // namespace

TEST_CASE("web: ten questions have the command's answers, and nothing is asked for") {
  if (without_web_page()) return;
  const std::vector<Question> questions = {
      {{"model", "builtin:resnet50"}, {"gpu", "rtx-4090"}, {"batch", "64"}},
      {{"model", "builtin:resnet50"}, {"gpu", "t4"}, {"batch", "512"}, {"precision", "amp-fp16"}},
      {{"model", "builtin:gpt2"}, {"gpu", "l4"}, {"batch", "8"}, {"dim.sequence", "512"}},
      {{"model", "hf:llama-3.1-8b"},
       {"gpu", "a100-sxm-80gb"},
       {"batch", "1"},
       {"optimizer", "adamw"}},
      {{"model", "hf:llama-3.1-8b"},
       {"gpu", "rtx-4090"},
       {"batch", "1"},
       {"finetune", "qlora"},
       {"lora_rank", "16"},
       {"checkpoint", "blocks"}},
      {{"model", "hf:llama-3.1-8b"},
       {"gpu", "h100-sxm-80gb"},
       {"gpus", "8"},
       {"fsdp", "true"},
       {"batch", "1"}},
      {{"model", "builtin:bert-base"},
       {"gpu", "tesla-v100-sxm2-16gb"},
       {"batch", "16"},
       {"precision", "amp-fp16"}},
      {{"model", "builtin:vit_b_16"}, {"gpu", "l4"}, {"batch", "32"}, {"optimizer", "adamw"}},
      {{"model", "builtin:lstm-lm"}, {"gpu", "tesla-t4"}},
      {{"model", "config.json"}, {"config", kConfig}, {"gpu", "l4"}, {"batch", "4"}},
  };
  const Scratch scratch;
  scratch.write("config.json", kConfig);
  Browser browser;
  for (const Question& question : questions) {
    const Ran ran =
        run_plimsoll(command_of(question), {.folder = scratch.path(""), .seconds = 100});
    CAPTURE(ran.err);
    REQUIRE(ran.status <= 1);
    ask(browser, question);
    CHECK(browser.console() == "");
    CHECK(browser.requests() == std::vector<std::string>());
    CHECK(difference(nlohmann::json::parse(ran.out), as_command(answer_of(browser))) == "");
  }
}

TEST_CASE("web: what has no answer says why, with what would help") {
  if (without_web_page()) return;
  Browser browser;
  ask(browser, {{"model", "builtin:resnet51"}, {"gpu", "t4"}});
  CHECK(text_of(browser, "h1") == "No answer");
  CHECK(says(text_of(browser, "#answer"), "did you mean resnet50"));
  CHECK(browser.console() == "");
}

namespace {

// A field of the page, set as by hand.
void set(Browser& browser, const std::string& name, const std::string& text) {
  browser.evaluate("(() => { const field = document.querySelector('[name=\"" + name +
                   "\"]'); field.value = '" + text +
                   "'; for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, "
                   "{ bubbles: true })); })()");
}

// A slider's next stop, and the answer to it.
void move(Browser& browser, const std::string& label, int steps) {
  browser.evaluate(
      "(() => { document.body.dataset.drawn = 'false'; const slider = "
      "document.querySelector('input[type=range][aria-label^=\"" +
      label + "\"]'); slider.value = String(Number(slider.value) + " + std::to_string(steps) +
      "); slider.dispatchEvent(new Event('input', { bubbles: true })); })()");
  wait_until_drawn(browser);
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

// A file, dropped on the page.
void drop(Browser& browser, const std::string& name, const std::string& bytes) {
  browser.evaluate(
      "(() => { document.body.dataset.drawn = 'false'; const all = new DataTransfer(); "
      "all.items.add(new File([Uint8Array.from(atob('" +
      base64(bytes) + "'), (c) => c.charCodeAt(0))], '" + name +
      "')); dispatchEvent(new DragEvent('drop', { dataTransfer: all })); })()");
  wait_until_drawn(browser);
  wait_until_helped(browser);
}

nlohmann::json command_answer(const std::vector<std::string>& command, const Scratch& scratch) {
  const Ran ran = run_plimsoll(command, {.folder = scratch.path(""), .seconds = 100});
  CAPTURE(ran.err);
  REQUIRE(ran.status <= 1);
  return nlohmann::json::parse(ran.out);
}

}  // namespace

TEST_CASE("web: files that are dropped have the command's answers, others a reason") {
  if (without_web_page()) return;
  const Scratch scratch;
  Browser browser;
  ask(browser, {{"model", "builtin:alexnet"}, {"gpu", "l4"}});
  const std::string folder = PLIMSOLL_SOURCE_DIR "/tests/";
  const std::pair<const char*, const char*> files[] = {
      {"cnn.onnx", "fuzz/corpus/cnn.onnx"},
      {"losses.plimsoll.json.gz", "golden/steps/losses_inside.plimsoll.json.gz"},
      {"config.json", nullptr}};
  for (const auto& [given, path] : files) {
    const std::string name = given;
    CAPTURE(name);
    const std::string bytes = path ? detail::text_of(folder + path) : kConfig;
    REQUIRE(bytes != "");
    scratch.write(name, bytes);
    drop(browser, name, bytes);
    CHECK(difference(command_answer({"estimate", name, "--gpu", "l4", "--json"}, scratch),
                     as_command(answer_of(browser))) == "");
  }
  // What is none, one of them under a name that was answered before.
  const std::pair<std::string, std::string> refused[] = {
      {"config.json", R"({"model_type": "llama")"},
      {"packed.onnx.gz", detail::text_of(folder + "golden/from_torch/plain-lstm_lm.onnx.gz")},
      {"weights.onnx", "no model"}};
  for (const auto& [file, bytes] : refused) {
    const std::string name = file;
    CAPTURE(name);
    scratch.write(name, bytes);
    drop(browser, name, bytes);
    CHECK(text_of(browser, "h1") == "No answer");
    const std::string shown = text_of(browser, "#answer");
    const Ran ran = run_plimsoll({"estimate", name, "--gpu", "l4"},
                                 {.folder = scratch.path(""), .seconds = 100});
    const size_t code = ran.err.find("[E"), help = ran.err.find("help: ");
    REQUIRE(code != ran.err.npos);
    REQUIRE(help != ran.err.npos);
    CHECK(says(shown, ran.err.substr(code + 1, 4)));
    CHECK(says(shown, ran.err.substr(help + 6, ran.err.find('\n', help) - help - 6)));
  }
  CHECK(browser.console() == "");
}

TEST_CASE("web: a file that is chosen, and a configuration that is pasted") {
  if (without_web_page()) return;
  const Scratch scratch;
  Browser browser;
  ask(browser, {{"model", "builtin:alexnet"}, {"gpu", "l4"}});
  browser.evaluate("document.body.dataset.drawn = 'false'");
  browser.choose("input[type=file]", {PLIMSOLL_SOURCE_DIR "/tests/fuzz/corpus/cnn.onnx"});
  wait_until_drawn(browser);
  CHECK(answer_of(browser)["input"]["model"] == "cnn.onnx");
  browser.evaluate("document.body.dataset.drawn = 'false'");
  std::string pasted = kConfig;
  std::ranges::replace(pasted, '\n', ' ');
  scratch.write("config.json", pasted);
  set(browser, "pasted", pasted);
  wait_until_drawn(browser);
  CHECK(difference(command_answer({"estimate", "config.json", "--gpu", "l4", "--json"}, scratch),
                   as_command(answer_of(browser))) == "");
}

TEST_CASE("web: what is chosen stands in the address, which repeats it") {
  if (without_web_page()) return;
  Browser browser;
  ask(browser, {{"model", "hf:llama-3.2-1b"}, {"gpu", "l4"}});
  const std::pair<const char*, const char*> chosen[] = {
      {"gpu", "h100-sxm-80gb"}, {"batch", "3"},         {"dim.sequence", "1000"},
      {"precision", "bf16"},    {"optimizer", "adamw"}, {"gpus", "16"},
      {"nodes", "2"},           {"fsdp", "all"},        {"tp", "2"},
      {"checkpoint", "blocks"}};
  for (const auto& [name, text] : chosen) {
    browser.evaluate("document.body.dataset.drawn = 'false'");
    set(browser, name, text);
    wait_until_drawn(browser);
  }
  wait_until_helped(browser);
  const auto answer = answer_of(browser);
  REQUIRE(answer["schema"] == "plimsoll.estimate");
  CHECK(answer["request"]["nodes"] == 2);
  CHECK(answer["request"]["network"] == "infiniband-ndr");  // which the page proposes
  CHECK(answer["input"]["symbols"]["sequence"] == 1000);
  const std::string address = browser.evaluate("location.href");
  const std::string command = text_of(browser, "#command");
  browser.open(address);
  wait_until_drawn(browser);
  wait_until_helped(browser);
  CHECK(answer_of(browser) == answer);
  CHECK(text_of(browser, "#command") == command);
  for (const auto& [name, text] : chosen)
    CHECK(browser.evaluate("document.querySelector('[name=\"" + std::string(name) +
                           "\"]').value") == text);
}

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
    constexpr int kMoves = 12;
    const double began = browser.processor_seconds();
    for (int i = 0; i < kMoves; ++i) move(browser, "batch", i < 6 ? 1 : -1);
    const double each = (browser.processor_seconds() - began) / kMoves;
    MESSAGE(model << ": " << each * 1e3 << " ms of a processor for a move");
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
