// The flags that estimate, max-batch, compare, sweep, explain and validate share, as text.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/cli/cli11.h"
#include "estimator/request/request.h"

namespace plimsoll::cli {

// Every option is bound to text: CLI11's own conversions accept what we must refuse ("010", "-1" as
// a huge count, "24GB" as GiB).
struct SharedFlags {
  std::string model;
  std::vector<std::string> gpus, dims, longest, lengths, settings, shapes, trips, branches,
      contents, assume, limits;
  // Of single-valued flags, by name without dashes; each as often as it was given.
  std::map<std::string, std::vector<std::string>> values;
  std::vector<TrainingRule> training;  // --freeze and --train, in the order given
  bool weight_decay = false, compile = false, cuda_graphs = false, no_recover = false,
       strict = false;
};

// One shared flag: how it is declared, and what help says of it. To add one: a row, and a line of
// to_request().
struct FlagRow {
  enum class Shown : uint8_t { kOften, kRarely };  // by --help, or by --help-all alone
  enum class Rule : uint8_t { kNone, kFreeze, kTrain };
  std::string_view name;  // without dashes
  const char* group = "";
  Shown shown = Shown::kRarely;
  const char* value = "";  // what its value is called
  const char* help = "";
  const char* usual = "";            // what holds where it is not given
  std::string (*words)() = nullptr;  // what it takes, where a table says so
  // Where it goes; a flag with none of these has one value.
  std::vector<std::string> SharedFlags::*list = nullptr;
  bool SharedFlags::*on = nullptr;
  Rule rule = Rule::kNone;
};
std::span<const FlagRow> shared_flags();
const FlagRow* find_flag(std::string_view name);

// Declares the flags. `flags` must outlive the parse.
// `Shown::kRarely`: --help only names them.
void add_shared(CLI::App& app, SharedFlags& flags, bool with_model = true,
                FlagRow::Shown most = FlagRow::Shown::kOften);
// A single-valued flag beside the shared ones, read as text.
void add_value(CLI::App& app, SharedFlags& flags, const std::string& name, const std::string& help,
               const std::string& value, const std::string& group);

// Whether --NAME is a shared flag of one value.
bool is_shared_value(std::string_view name);

// The value of a single-valued flag, or null where it was not given.
const std::string* value_of(const SharedFlags& flags, std::string_view name);

}  // namespace plimsoll::cli
