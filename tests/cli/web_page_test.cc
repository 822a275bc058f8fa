// The web page: its engine's answers are the command's, also to files that are dropped; nothing is
// asked for outside.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/web_page.h"

namespace plimsoll::test {
namespace {

constexpr const char* kConfig =
    R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 4,
 "num_attention_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16"})";

// A field of the page, set as by hand.
void set(Browser& browser, const std::string& name, const std::string& text) {
  browser.evaluate("(() => { const field = document.querySelector('[name=\"" + name +
                   "\"]'); field.value = '" + text +
                   "'; for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, "
                   "{ bubbles: true })); })()");
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

}  // namespace plimsoll::test
