// asked_workspaces: what cuDNN itself answered about convolutions, as `plimsoll-calibrate ask`
// records it: a line of JSON for each question, with every engine configuration that it lists.
//
//   auto asked = AskedWorkspaces::read(lines, "answers.jsonl");
//   const std::vector<AskedPlan>* plans = asked->find(question);   // in cuDNN's order
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/library/workspace/conv_question.h"
#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"

namespace plimsoll {

// An engine configuration. Notes are cuDNN's numerical notes in small letters ("tensor_core",
// "winograd", "nondeterministic", "down_convert_inputs").
struct AskedPlan {
  int64_t engine = -1;  // cuDNN's global engine id, counted per pass
  int64_t bytes = 0;    // of workspace
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, int64_t>> knobs;  // in cuDNN's order; none before 9.9
  bool has(std::string_view note) const;
  int tile() const;  // the TILE_SIZE knob, -1 where there is none
  bool operator==(const AskedPlan&) const = default;
};

inline void describe(Fields& f, AskedPlan& plan) {
  f("engine", plan.engine, {.low = 0, .high = 1 << 16});
  f("workspace_bytes", plan.bytes);
  f("notes", plan.notes, {.absent_where = false});
  f("knobs", plan.knobs, {.absent_where = false, .any_sign = true});
}

struct AskedAnswer {
  ConvQuestion question;
  std::string gpu;               // its id
  std::string cudnn;             // "9.10.2"
  std::string framework = {};    // whose choice the record has
  std::string mode = "instant";  // the heuristic; "fallback" where that had nothing to say
  bool on_card = false;          // the GPU was there; else it was described
  std::vector<AskedPlan> plans;  // in cuDNN's order of preference
  std::string error;             // why there are none
};

std::string algorithm_of(const AskedPlan& plan, Pass pass);

// A plan's keys in an open object, and back. Faults are the object's.
void write_plan(JsonWriter& out, const AskedPlan& plan);
AskedPlan read_plan(JsonObject& object);

struct WorkspaceChoice;
// The line without its newline: the question, who was asked, the plan that a framework takes
// (algorithm, engine, workspace_bytes, ...; engine null where that is a kernel of its own) and all
// others as alternatives, each with its place in cuDNN's order ("preference", from 0). `choice` is
// not read where the answer is an error.
std::string line_of(const AskedAnswer& answer, const WorkspaceChoice& choice);
// What it says of cuDNN: the framework's choice is put back in its place. Faults of the JSON
// reader.
Result<AskedAnswer> read_answer(std::string_view line, const std::string& place);

class AskedWorkspaces {
 public:
  // Blank lines are skipped. Faults name the line.
  static Result<AskedWorkspaces> read(std::string_view lines, std::string_view file);
  // Of two answers to one question the later holds.
  void add(const AskedAnswer& answer);
  // Null where it was not asked, or cuDNN had no answer. Cost: a text and a look-up, 1 us.
  const std::vector<AskedPlan>* find(const ConvQuestion& question) const;
  // The version that was asked; of the last line.
  const std::string& cudnn() const { return cudnn_; }
  // Whether it was asked on the card itself; of the last line.
  bool on_card() const { return on_card_; }

 private:
  std::map<std::string, std::vector<AskedPlan>, std::less<>> plans_;
  std::string cudnn_;
  bool on_card_ = false;
};

}  // namespace plimsoll
