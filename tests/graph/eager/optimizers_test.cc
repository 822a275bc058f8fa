// The table of optimizers: every row's worked example, what PyTorch and the libraries themselves
// keep and hold (tests/oracles/optimizers.py), and the launches that were counted on a card.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "graph/eager/update.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

// "f32[64,32]"
TensorType type_of(const std::string& text) {
  const size_t open = text.find('[');
  TensorType type{*dtype_from_short_name(text.substr(0, open)), {}};
  std::istringstream extents(text.substr(open + 1, text.size() - open - 2));
  for (std::string extent; std::getline(extents, extent, ',');)
    type.shape.emplace_back(std::stoll(extent));
  return type;
}

struct Counts {
  int64_t states = 0, shared = 0;  // bytes
  int64_t read = 0, written = 0, launches = 0;
  int64_t held = 0, held_rounded = 0;  // at most, single numbers aside
};

int64_t rounded(int64_t bytes) { return (bytes + 511) / 512 * 512; }

Counts update_of(const OptimizerRow& row, const std::vector<TensorType>& parameters, bool decays) {
  Recipe recipe;
  recipe.optimizer = &row;
  recipe.weight_decay = decays;
  const Policy policy;
  Decider decider({});
  eager::Machine m(recipe, policy, decider);
  for (const TensorType& type : parameters) {
    m.parameter(type.dtype, type.shape);
    m.leaves().back()->gradient = m.resident(type.dtype, type.shape, Role::kGradient);
    m.leaves().back()->reached = true;
  }
  eager::make_states(m);
  eager::update(m, {});
  for (const auto& leaf : m.leaves()) leaf->gradient = {};
  const Step step = m.finish();
  Counts counts;
  for (const Buffer& b : step.buffers) {
    if (b.role == Role::kOptimizerState) counts.states += *b.bytes.constant();
  }
  int64_t held = 0, held_rounded = 0;
  for (const Event& e : step.events) {
    if (e.kind == Event::Kind::kLaunch) {
      counts.read += *step.kernels[e.id].read.constant();
      counts.written += *step.kernels[e.id].written.constant();
      ++counts.launches;
      continue;
    }
    const int64_t bytes = *step.buffers[e.id].bytes.constant();
    const int64_t sign = e.kind == Event::Kind::kAllocate ? 1 : -1;
    if (bytes <= 8) continue;
    held += sign * bytes;
    held_rounded += sign * rounded(bytes);
    counts.held = std::max(counts.held, held);
    counts.held_rounded = std::max(counts.held_rounded, held_rounded);
  }
  CHECK(held == 0);
  return counts;
}

// The example of a rule, worked again for its parameter.
std::string worked(const OptimizerRow& row, const UpdateRule& rule) {
  const std::string example(rule.example);
  const TensorType parameter = type_of(example.substr(0, example.find(' ')));
  Decider decider({});
  CHECK(&rule_of(row, parameter, decider) == &rule);
  std::string line = text(parameter) + " ->";
  for (const TypeOf state : rule.states) line += " " + text(state(parameter));
  const Counts counts = update_of(row, {parameter}, false);
  const auto share = [&](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(*bytes(parameter).constant());
  };
  line += fmt::format(" | {:.3g} read {:.3g} written", share(counts.read), share(counts.written));
  if (counts.held > 0) line += fmt::format(" {:.3g} held", share(counts.held));
  return line;
}

// What the library holds at most; where we are known to differ, what we say.
int64_t held_or_known(const nlohmann::json& one) {
  const size_t parameters = one["parameters"].size();
  // A second name for decayed gradients outlives their group, of another type.
  if (one["optimizer"] == "adagrad" && one["weight_decay"] && parameters == 6) return 3304448;
  // Types come in the order of the parameters, where later versions begin with the last one.
  if (one["optimizer"] == "adam-2.0" && one["weight_decay"] && parameters == 6) return 4433408;
  // A second name for the last parameter's update lives until it is assigned anew.
  if (one["optimizer"] == "adafactor" && parameters == 10) return 2101248;
  return one["temporaries"];
}

}  // namespace

TEST_CASE("optimizers: every row's worked example holds") {
  for (const OptimizerRow& row : optimizers()) {
    CAPTURE(row.name);
    CHECK(find_optimizer(row.name) == &row);
    CHECK(!row.source.empty());
    for (const UpdateRule& rule : row.rules) CHECK(worked(row, rule) == rule.example);
  }
}

TEST_CASE("optimizers: states and temporaries are the libraries' own") {
  const auto golden = test::read_golden("memory/optimizers.json");
  for (const OptimizerRow& row : optimizers()) {
    CAPTURE(row.name);
    const auto cases = std::ranges::count_if(
        golden["cases"], [&](const auto& one) { return one["optimizer"] == row.name; });
    CHECK(cases == (row.source.starts_with("no library") ? 0 : 4));
  }
  for (const auto& one : golden["cases"]) {
    const std::string name = one["optimizer"];
    const OptimizerRow* row = find_optimizer(name);
    REQUIRE(row);
    CAPTURE(one.dump());
    Decider decider({});
    std::vector<TensorType> parameters;
    for (const auto& [index, parameter] : one["parameters"].items()) {
      parameters.push_back(type_of(parameter));
      const UpdateRule& rule = rule_of(*row, parameters.back(), decider);
      std::vector<std::string> states;
      for (const TypeOf state : rule.states) states.push_back(text(state(parameters.back())));
      CHECK(states == one["states"][std::stoul(index)].get<std::vector<std::string>>());
    }
    const int64_t held = update_of(*row, parameters, one["weight_decay"]).held_rounded;
    CHECK(held == held_or_known(one));
  }
}

// Launches of one step on an H100 (hwdb/calibrations/measured/updates-h100.csv).
TEST_CASE("optimizers: kernels over lists are launched as often as on a card") {
  const std::map<std::pair<std::string, std::string>, int64_t> measured = {
      {{"resnet50", "sgd"}, 3},      {{"resnet50", "momentum"}, 9},
      {{"resnet50", "adam"}, 23},    {{"resnet50", "adamw"}, 26},
      {{"vgg16", "sgd"}, 7},         {{"vgg16", "momentum"}, 21},
      {{"vgg16", "adam"}, 49},       {{"vgg16", "adamw"}, 56},
      {{"densenet121", "sgd"}, 6},   {{"densenet121", "momentum"}, 16},
      {{"densenet121", "adam"}, 40}, {{"densenet121", "adamw"}, 44},
      {{"vit_b_16", "sgd"}, 5},      {{"vit_b_16", "momentum"}, 15},
      {{"vit_b_16", "adam"}, 35},    {{"vit_b_16", "adamw"}, 40}};
  const Hwdb hwdb = Hwdb::open({}).value();
  const Platform platform = find_platform(hwdb, Request{}, "h100-sxm-80gb").value();
  for (const auto& row : measured) {
    const auto& what = row.first;
    CAPTURE(what.first);
    CAPTURE(what.second);
    Request request;
    request.model = "builtin:" + what.first;
    request.recipe.optimizer = find_optimizer(what.second);
    const auto model = compile(request, platform);
    REQUIRE(model);
    int64_t launches = 0, calls = 0;
    for (const Event& e : model->step.events) {
      if (e.kind != Event::Kind::kLaunch || e.phase != Phase::kUpdate) continue;
      ++launches;
      calls += e.dispatched ? 1 : 0;
    }
    CHECK(launches == row.second);
    CHECK(calls == static_cast<int64_t>(find_optimizer(what.second)->rules[0].passes.size()) -
                       (what.second == "adamw" ? 0 : 1));  // without weight decay
  }
}

// What makes a new optimizer a matter of one file.
TEST_CASE("optimizers: nobody but their table names them") {
  const std::string root = PLIMSOLL_SOURCE_DIR "/";
  // The default; a norm's hyper-parameter of the same name; what an answer proposes in its place.
  const std::map<std::string, std::string> known = {{"graph/ir/recipe.h", "momentum"},
                                                    {"graph/ops/rules.cc", "momentum"},
                                                    {"graph/config/layers_norm.cc", "momentum"},
                                                    {"estimator/answer/assumptions.cc", "adamw"}};
  for (const char* room : {"graph", "estimator", "hwdb", "calibrate", "monitor"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root + room)) {
      const std::string extension = entry.path().extension().string();
      const std::string path = entry.path().string().substr(root.size());
      if (extension != ".cc" && extension != ".h") continue;
      // The table; examples in comments; what programs take by default, and call their own.
      if (path == "graph/eager/optimizers.cc" || path == "graph/ir/optimizer.h" ||
          path == "estimator/request/trainer.cc" ||
          path.starts_with("estimator/app/trainer_files/"))
        continue;
      const std::string text = test::read_bytes(entry.path().string());
      for (const OptimizerRow& row : optimizers()) {
        const auto at = known.find(path);
        if (at != known.end() && at->second == row.name) continue;
        CHECK_MESSAGE(text.find("\"" + std::string(row.name) + "\"") == text.npos, path, " names ",
                      row.name);
      }
    }
  }
}

TEST_CASE("optimizers: measured records say them in their own words") {
  const std::map<std::string, std::string> said = {
      {"sgd", "sgd"},
      {"SGD momentum", "momentum"},
      {"timm default (sgd momentum)", "momentum"},
      {"sgd nesterov", "nesterov"},
      {"nesterov momentum", "nesterov"},
      {"Adam", "adam"},
      {"torch.optim.AdamW", "adamw"},
      {"adamw (HF default)", "adamw"},
      {"adamw, PyTorch (fused)", "adamw-fused"},
      {"adamw_torch_fused", "adamw-fused"},
      {"adam (fused, fp16 with fp32 master)", "adam-fused"},
      {"adamw, bnb 8-bit", "adam8bit"}};
  for (const auto& pair : said) {
    const std::string& words = pair.first;
    CAPTURE(words);
    const OptimizerRow* row = spoken_optimizer(words);
    REQUIRE(row);
    CHECK(row->name == pair.second);
  }
  CHECK(!spoken_optimizer("lars"));
  CHECK(!spoken_optimizer(""));
}

}  // namespace plimsoll
