#include "estimator/library/workspace/asked.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/library/workspace/choice.h"
#include "estimator/library/workspace/formula.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"
#include "graph/json/reader.h"

namespace plimsoll {
void write_plan(JsonWriter& out, const AskedPlan& plan) {
  JsonFields fields(out);
  describe(fields, unchanged(plan));
}

AskedPlan read_plan(JsonObject& object) { return read_described<AskedPlan>(object); }

bool AskedPlan::has(std::string_view note) const {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

int AskedPlan::tile() const {
  for (const auto& [knob, value] : knobs) {
    if (knob == "TILE_SIZE") return static_cast<int>(value);
  }
  return -1;
}

std::string algorithm_of(const AskedPlan& plan, Pass pass) {
  return algorithm_name({.engine = static_cast<int>(plan.engine),
                         .tile = plan.tile(),
                         .tensor_core = plan.has("tensor_core")},
                        pass);
}

std::string line_of(const AskedAnswer& answer, const WorkspaceChoice& choice) {
  JsonWriter out;
  out.begin_object();
  write_conv_question(out, answer.question);
  out.key("gpu").string(answer.gpu);
  out.key("cudnn").string(answer.cudnn);
  out.key("framework").string(answer.framework);
  out.key("mode").string(answer.mode);
  if (answer.on_card) out.key("on_card").boolean(true);
  if (!answer.error.empty()) {
    out.key("error").string(answer.error).end_object();
    return out.take();
  }
  const ConvPlan& chosen = choice.plan;
  out.key("algorithm").string(chosen.algorithm);
  if (chosen.preference < 0) {
    out.key("engine").null().key("workspace_bytes").integer(chosen.bytes);
  } else {
    write_plan(out, answer.plans[static_cast<size_t>(chosen.preference)]);
    out.key("preference").integer(chosen.preference);
  }
  out.key("alternatives").begin_array();
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    if (static_cast<int>(i) == chosen.preference) continue;
    const AskedPlan& plan = answer.plans[i];
    out.begin_object().key("algorithm").string(algorithm_of(plan, answer.question.pass));
    write_plan(out, plan);
    out.key("preference").integer(static_cast<int64_t>(i)).end_object();
  }
  out.end_array();
  out.key("basis").string(name(choice.basis)).end_object();
  return out.take();
}

Result<AskedAnswer> read_answer(std::string_view line, const std::string& place) {
  const auto value = TRY(read_json(line, place));
  Diagnostics faults;
  JsonObject object(value, place, faults, true);
  AskedAnswer answer;
  answer.question = read_conv_question(object, DType::kFloat32);
  answer.gpu = object.required_string("gpu");
  answer.cudnn = object.required_string("cudnn");
  answer.framework = object.optional_string("framework").value_or("");
  answer.mode = object.optional_string("mode").value_or("instant");
  answer.on_card = object.optional_bool("on_card").value_or(false);
  answer.error = object.optional_string("error").value_or("");
  if (answer.error.empty()) {
    std::map<int64_t, AskedPlan> by_preference;
    const auto take = [&](JsonObject& of) {
      const int64_t place_of = of.required_integer("preference", {.low = 0});
      if (!by_preference.emplace(place_of, read_plan(of)).second)
        of.fail("E303", fmt::format("two plans are of preference {}", place_of));
    };
    if (object.has("preference")) take(object);
    for (const JsonValue& other : object.required_list("alternatives")) {
      JsonObject plan(other, place, faults);
      take(plan);
    }
    for (auto& plan : by_preference) answer.plans.push_back(std::move(plan.second));
  }
  if (has_error(faults)) return tl::unexpected(faults);
  return answer;
}

Result<AskedWorkspaces> AskedWorkspaces::read(std::string_view lines, std::string_view file) {
  AskedWorkspaces asked;
  for (int number = 1; !lines.empty(); ++number) {
    const std::string_view line = take_part(lines, '\n');
    if (trimmed(line).empty()) continue;
    const auto answer = TRY(read_answer(line, fmt::format("{}, line {}", file, number)));
    asked.add(answer);
  }
  return asked;
}

void AskedWorkspaces::add(const AskedAnswer& answer) {
  cudnn_ = answer.cudnn;
  on_card_ = answer.on_card;
  plans_[text_of(answer.question)] = answer.plans;
}

const std::vector<AskedPlan>* AskedWorkspaces::find(const ConvQuestion& question) const {
  if (!has_equal_padding(question.problem)) return nullptr;
  const auto at = plans_.find(text_of(question));
  return at == plans_.end() || at->second.empty() ? nullptr : &at->second;
}

}  // namespace plimsoll
