// The web page in Chromium: its engine's answers are the command's, nothing is asked for outside,
// no labels lie over each other. Needs the page of `./dev web`, whose path PLIMSOLL_WEB says.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/browser.h"

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
  std::string link = std::string(web_page()) + "#";
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

// What is in the page's element of that id.
std::string element_of(const std::string& dom, const std::string& id) {
  const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
  const size_t at = dom.find(begin);
  REQUIRE(at != dom.npos);
  return dom.substr(at + begin.size(), dom.find("</script>", at) - at - begin.size());
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
  for (const Question& question : questions) {
    const Ran ran = run_plimsoll(command_of(question), {.folder = scratch.path("")});
    CAPTURE(ran.err);
    REQUIRE(ran.status <= 1);
    const Seen seen = browse(scratch, link_of(question));
    CHECK(seen.console == "");
    CHECK(seen.requests == std::vector<std::string>());
    REQUIRE(says(seen.dom, "data-helped=\"true\""));
    const auto answer = nlohmann::json::parse(element_of(seen.dom, "plimsoll-result"));
    CHECK(difference(nlohmann::json::parse(ran.out), as_command(answer)) == "");
  }
}

TEST_CASE("web: what has no answer says why") {
  if (without_web_page()) return;
  const Scratch scratch;
  const Seen seen = browse(scratch, link_of({{"model", "builtin:resnet51"}, {"gpu", "t4"}}));
  CHECK(says(seen.dom, "No answer"));
  CHECK(says(seen.dom, "did you mean resnet50"));
  CHECK(seen.console == "");
}

// What lies over something else, or beside the page: said by a script of the test's own, which the
// copy of the page allows.
std::string overlaps_at(const Scratch& scratch, const Question& question, int width) {
  std::string page = detail::text_of(web_page());
  const size_t policy = page.find("script-src");
  page.replace(policy, page.find(';', policy) - policy,
               "script-src 'wasm-unsafe-eval' 'unsafe-inline'");
  const std::string script = detail::text_of(PLIMSOLL_SOURCE_DIR "/tests/cli/web_overlaps.js");
  page.insert(page.rfind("</body>"), "<script>" + script + "</script>");
  const std::string copy = scratch.write("copy.html", page);
  const std::string link = link_of(question);
  // A window has a least width; a frame has none.
  const std::string frame = scratch.write(
      "frame.html", "<iframe style='border:0;height:3000px;width:" + std::to_string(width) +
                        "px' src='copy.html" + link.substr(link.find('#')) +
                        "'></iframe><pre id=told></pre><script>addEventListener('message', "
                        "(e) => { told.textContent = e.data; })</script>");
  const Seen seen = browse(scratch, frame, {"--window-size=1400,3100"});
  CHECK(seen.console == "");
  const size_t at = seen.dom.find("<pre id=\"told\">");
  REQUIRE(at != seen.dom.npos);
  return seen.dom.substr(at + 15, seen.dom.find("</pre>", at) - at - 15);
}

TEST_CASE("web: no label lies over another, on a phone and on a desk") {
  if (without_web_page()) return;
  const Scratch scratch;
  const Question fits = {{"model", "hf:llama-3.1-8b"}, {"gpu", "h100-sxm-80gb"}, {"batch", "1"}};
  const Question too_large = {{"model", "builtin:resnet50"}, {"gpu", "t4"}, {"batch", "1024"}};
  for (const int width : {390, 1280}) {
    CAPTURE(width);
    CHECK(overlaps_at(scratch, fits, width) == "measured: none");
    CHECK(overlaps_at(scratch, too_large, width) == "measured: none");
  }
}

}  // namespace plimsoll::test
