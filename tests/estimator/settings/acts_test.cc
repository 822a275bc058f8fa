// An answer moves if and only if no warning says that a setting has no effect: every row on
// eleven models and four frameworks.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "estimator/app/report/json.h"
#include "graph/base/setting.h"
#include "tests/estimator/settings/examples.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

struct TriedModel {
  std::string model;
  std::vector<std::pair<std::string, std::string>> flags = {};
};

// A network of images whose only norm is of instances.
constexpr const char* kInstanceNorm = R"({"schema": "plimsoll.model-config", "version": 1,
  "name": "norms", "parameters": {"batch": 8},
  "inputs": [{"name": "x", "shape": ["batch", 16, 32, 32]}],
  "layers": [{"type": "instance_norm"}, {"type": "relu"}]})";

// Blocks of attention and experts: what GPUs split that is not in other models.
constexpr const char* kBlocks = R"({"schema": "plimsoll.model-config", "version": 1,
  "name": "blocks", "parameters": {"batch": 8, "sequence": 32},
  "inputs": [{"name": "x", "shape": ["batch", "sequence", 32]}],
  "layers": [{"name": "h", "type": "repeat", "count": 6, "layers": [
    {"name": "attention", "type": "attention", "heads": 4, "causal": true},
    {"name": "flat", "type": "reshape", "shape": ["batch * sequence", 32]},
    {"name": "gate", "type": "router", "experts": 4, "chosen": 2},
    {"name": "experts", "type": "experts", "inputs": ["flat", "gate", "gate:1"], "experts": 4,
     "inner": 64},
    {"name": "shaped", "type": "reshape", "shape": ["batch", "sequence", 32]}]},
    {"name": "drop", "type": "dropout", "rate": 0.1},
    {"name": "head", "type": "linear", "out": 2048}]})";

const std::vector<TriedModel>& models(const std::string& norms, const std::string& blocks) {
  static const std::vector<TriedModel> kModels = {
      {"builtin:mlp"},
      {"builtin:cnn-torres"},
      {"builtin:cnn-bn-torres"},
      {"builtin:cnn-cifar"},
      {"builtin:alexnet"},
      {"builtin:dcgan"},
      {"builtin:lstm-lm"},
      {"builtin:gru-imdb"},
      {"builtin:gpt2", {{"set", "layers=1"}, {"dim", "sequence=32"}}},
      {norms},
      {blocks}};
  return kModels;
}

constexpr const char* kFrameworks[] = {"pytorch", "tensorflow-1.15", "mxnet", "caffe"};

GivenSettings given(const TriedModel& model, const char* framework) {
  GivenSettings settings;
  settings.model = model.model;
  settings.add(*find_setting("gpu"), "tesla-t4");
  settings.add(*find_setting("batch"), "64");
  settings.add(*find_setting("framework"), framework);
  for (const auto& [name, text] : model.flags) settings.add(*find_setting(name), text);
  return settings;
}

// Figures alone: what an answer says of its sources may name a setting that moved none of them.
std::string figures(Estimate e) {
  static_cast<AnswerNotes&>(e) = {};
  e.memory.context_basis.clear();
  return to_json(e);
}

// Whether the answer says that the setting has no effect.
bool is_told(const Estimate& e, const SettingRow& row) {
  return std::ranges::any_of(e.diagnostics, [&](const Diagnostic& d) {
    return d.severity == Severity::kWarning &&
           d.message.find(setting(row.name)) != std::string::npos &&
           d.message.find("no effect") != std::string::npos;
  });
}

// What is no question of these models: names of their parts, the machine that asks, what an answer
// is compared with; and of one value what the others already say.
bool is_tried(const SettingRow& row) {
  // A factor that only users of peft would miss, what takes two more settings, and what only models
  // of families have, move none.
  constexpr std::string_view kOthers[] = {
      "gpu",          "batch",     "framework",      "image",         "hwdb",
      "machine",      "strict",    "no-recover",     "lora-alpha",    "lora-upcast",
      "kbit-prepare", "lora-form", "lora-in-blocks", "use-reentrant", "use-cache"};
  return row.value.form != SettingValue::Form::kEntries &&
         std::ranges::find(kOthers, row.name) == std::end(kOthers);
}

// Whether what it changes may be lost: in a segment of the allocator that has room for it, because
// the algorithm that is timed is the one that is guessed, or because stages of the same cost have
// as many blocks.
bool may_be_lost(const SettingRow& row) {
  return row.name == "allocator" || row.name == "prefetch" || row.name == "cudnn-benchmark" ||
         row.name == "stage-balance" || row.name == "bitsandbytes" || row.name == "keep-outputs" ||
         row.name == "last-outputs";
}

GivenSettings with_beside(GivenSettings settings, const SettingRow& row) {
  const auto& known = test::setting_examples();
  const auto example = std::ranges::find(known, row.name, &test::SettingExample::setting);
  if (example == known.end()) return settings;
  for (const auto& [name, text] :
       {std::pair(example->beside, example->beside_text), {example->also, example->also_text}}) {
    if (!name.empty()) settings.add(*find_setting(name), std::string(text));
  }
  return settings;
}

// Empty where there is no answer.
std::string figures_of(const GivenSettings& settings) {
  const auto e = estimate(*to_request(settings), test::hwdb());
  return e ? figures(*e) : "";
}

struct Outcome {
  bool answered = false, moved = false, told = false;
};

Outcome outcome_of(const GivenSettings& usual, const std::string& before, const SettingRow& row) {
  Outcome outcome;
  std::vector<std::string> texts = test::texts_for(row);
  std::ranges::reverse(texts);  // defaults are mostly first
  for (const std::string& text : texts) {
    if (outcome.moved && !outcome.told) break;
    GivenSettings settings = usual;
    settings.add(row, text);
    const auto request = to_request(settings);
    REQUIRE(request);
    const auto e = estimate(*request, test::hwdb());
    if (!e) continue;  // refused, which is no silence
    outcome.answered = true;
    outcome.moved = outcome.moved || figures(*e) != before;
    outcome.told = outcome.told || is_told(*e, row);
  }
  return outcome;
}

}  // namespace

TEST_CASE("an answer moves if and only if nothing says that a setting has no effect") {
  const test::Scratch scratch;
  const std::string norms = scratch.write("norms.json", kInstanceNorm);
  const std::string blocks = scratch.write("blocks.json", kBlocks);
  int answers = 0, told = 0;
  std::string wrong;
  std::set<std::string_view> moving;
  for (const TriedModel& model : models(norms, blocks)) {
    for (const char* framework : kFrameworks) {
      const GivenSettings usual = given(model, framework);
      const std::string figures_before = figures_of(usual);
      if (figures_before.empty()) continue;
      for (const SettingRow& row : settings()) {
        if (!is_tried(row)) continue;
        const GivenSettings beside = with_beside(usual, row);
        const std::string before =
            beside.all().size() == usual.all().size() ? figures_before : figures_of(beside);
        const Outcome outcome = outcome_of(beside, before, row);
        if (!outcome.answered) continue;
        ++answers;
        told += outcome.told ? 1 : 0;
        if (outcome.moved) moving.insert(row.name);
        if (outcome.moved == outcome.told && (outcome.moved || !may_be_lost(row)))
          wrong += fmt::format(
              "{} {} --{}: {}\n", model.model, framework, row.name,
              outcome.moved ? "moves and is told to have no effect" : "moves nothing in silence");
      }
    }
  }
  CHECK(wrong == "");
  for (const SettingRow& row : settings())
    CHECK_MESSAGE((!is_tried(row) || moving.contains(row.name)), "nowhere moves --" << row.name);
  CHECK(answers > 1000);
  CHECK(told > 100);
}
