// SettingRow: everything a setting of a request means, in one row of its group's table. The command
// line, its help and completion, plimsoll.yaml, the environment, plans of sweeps, measured records
// (read by validate, written by the monitor), Python's keywords and the warning that a setting has
// no effect read the row.
//
// To add a setting: the member of Request that it sets, and one row in one of the tables
// (model_settings.cc, training_settings.cc, gpu_settings.cc, framework_settings.cc,
// run_settings.cc). tests/estimator/settings tries every row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"
#include "graph/json/writer.h"

namespace plimsoll {

struct CompiledModel;
struct MeasuredRun;
struct Platform;
struct SettingRow;

// Where a setting is looked at: whether it acts on this model, there.
struct SettingScope {
  const Request& request;
  const Platform& platform;
  const CompiledModel& model;
};

// How a setting's text is read into a request, and its value told.
struct SettingValue {
  enum class Form : uint8_t {
    kSwitch,   // given or not
    kOne,      // one value
    kSeveral,  // a list, a value each time that it is given
    kEntries,  // a map, NAME=VALUE each time
  };
  enum class Type : uint8_t { kBoolean, kWord, kCount, kSize, kNumber, kText, kPath, kGlob };
  Form form = Form::kOne;
  Type type = Type::kText;
  // What help calls it: "N", "on|off".
  const char* placeholder = "";
  // Of one value: what it is where the setting is given without any. Null: it needs one.
  const char* implied = nullptr;
  // The words that it takes, or those that are worth proposing. Null: any text.
  std::vector<std::string> (*words)() = nullptr;
  bool many = false;  // they are a table's, which help lists
  // A count's range.
  int64_t low = 0, high = 0;
  // E1xx where the text is not as it should be. Of entries the text is one NAME=VALUE.
  Result<void> (*read)(const SettingRow& row, std::string_view text, Request& into) = nullptr;
  // One JSON value; null where the model, the framework or the device decides.
  void (*write)(JsonWriter& out, const Request& from) = nullptr;
  // Of entries: whose values are given.
  std::vector<std::string> (*names)(const Request& from) = nullptr;
};

// The key of measured runs that says the setting (hwdb/measured/run.h).
struct RecordKey {
  std::string_view name = {};  // empty: there is none
  // What sources write, in the setting's own word: nothing where it is not known, an empty text
  // where it says nothing. Null: they write the setting's words.
  std::optional<std::string> (*word)(const std::string& written) = nullptr;
  // Where the form says it otherwise than by the value of one key.
  void (*write)(JsonWriter& out, const Request& from) = nullptr;
  // ... and is read together with others (measured_request.cc).
  bool composed = false;
  // False of what is no fact of a run: limits of reading, what an answer is compared with.
  bool of_run = true;
};

// What the configurations of a sweep that differ in a setting have in common.
enum class SweepAxis : uint8_t {
  kNone,     // no parameter of plans: its effect is not on a configuration's figures
  kSize,     // a symbol of the step
  kOuter,    // nothing: another platform, or another model
  kGpu,      // the compiled model
  kKernels,  // nearly all of the step's kernels
};

// A verb that makes no use of a setting (W516), or cannot obey it (E117).
struct VerbRule {
  std::string_view verb, why;
  bool refused = false;
};

// Where a setting moves an answer.
struct ActsWhere {
  bool (*holds)(const SettingScope&) = nullptr;  // null: everywhere
  std::string_view why = {};                     // not elsewhere, with the setting `other` for {}
  std::string_view other = {};                   // "gpus", or "mode=serve" where no number is meant
};

struct SettingRow {
  // By --help-all alone; named by --help, for those who know what they look for; described by it.
  enum class Shown : uint8_t { kDetail, kRarely, kOften };
  std::string_view name;  // "cuda-graphs": the flag without its dashes
  const char* group = "";
  Shown shown = Shown::kRarely;
  const char* help = "";
  const char* default_text = "";  // what holds where it is not given
  SettingValue value;
  RecordKey record = {};
  SweepAxis axis = SweepAxis::kOuter;
  ActsWhere acts = {}, also = {};  // it moves an answer where both hold
  std::span<const VerbRule> verbs = {};
};

// In the order of help.
std::span<const SettingRow> settings();
// Null for a name that is none.
const SettingRow* find_setting(std::string_view name);

// "cuda_graphs": as JSON, plans and Python write the name.
std::string underscored(std::string_view name);

// What a row's value takes, in a line: "train, train_no_update, inference"; empty for any text.
std::string words_of(const SettingRow& row);

}  // namespace plimsoll
