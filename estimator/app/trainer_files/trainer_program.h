// TrainerProgram: what the files of a training program say, as settings; a table a program, a row a
// key. To add a key: its row, with the words that it takes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

class JsonValue;
class TrainerSettings;

// Of a value, in lower case, and the text of the setting; empty: nothing is set.
struct TrainerWord {
  std::string_view written, text;
};

struct TrainerKey {
  enum class Use : uint8_t {
    kSets,        // the setting; two values of it exclude each other
    kElse,        // where no row above it has set it
    kOneOf,       // likewise; two of these that set two values exclude each other
    kJoins,       // after what rows above it have set, with a comma
    kUnmodelled,  // none: it lowers memory, changes time or runs between steps; not modelled
    kRefused,     // likewise, and memory would be predicted too low
    kModel,       // names the model
    kDeepSpeed,   // names a config of DeepSpeed, or holds one
    kPerUpdate,   // samples of an update on all GPUs together
    kComposed,    // is read with others by the program's finish()
  };
  // Values that `words` do not have.
  enum class Others : uint8_t { kRefused, kSilent, kAsWritten };

  std::string_view key;   // members of members by dots: "optimizer._component_"
  std::string_view sets;  // a setting: "batch", "dim.sequence"; of what is not modelled: in words
  std::span<const TrainerWord> words = {};  // none: the value as it is written
  Use use = Use::kSets;
  Others others = Others::kRefused;
};

struct TrainerProgram {
  std::string_view name;     // whose file it is: "axolotl's config"
  std::string_view trainer;  // whose defaults hold where it sets nothing: "hf"; empty: nobody's
  std::span<const std::string_view> marks;          // keys of which its files have one
  std::array<std::span<const TrainerKey>, 3> keys;  // of this program, then those of others too
  std::string_view source;                          // where the keys are described
  // What no row can say: keys that only together mean a setting. Null: nothing.
  void (*finish)(const JsonValue& root, TrainerSettings& settings) = nullptr;
};

// A file is of the first that has one of its marks.
std::span<const TrainerProgram> trainer_programs();

// The first three in hf_keys.cc, each other one in a file of its name.
TrainerProgram llama_factory_program();
TrainerProgram trl_program();
TrainerProgram hf_program();
TrainerProgram peft_program();
TrainerProgram torchtune_program();
TrainerProgram torchtitan_program();
TrainerProgram axolotl_program();
TrainerProgram accelerate_program();
TrainerProgram deepspeed_program();

}  // namespace plimsoll
