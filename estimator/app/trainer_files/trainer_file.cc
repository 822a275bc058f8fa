#include "estimator/app/trainer_files/trainer_file.h"

#include <algorithm>
#include <utility>

#include "estimator/app/trainer_files/key_reader.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/folder.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"
#include "graph/json/toml_reader.h"
#include "graph/json/yaml_reader.h"

namespace plimsoll {
namespace {

constexpr uint64_t kLargestToGuess = uint64_t{1} << 20;

bool is_json_name(std::string_view path) { return path.ends_with(".json"); }
bool is_toml_name(std::string_view path) { return path.ends_with(".toml"); }
bool is_yaml_name(std::string_view path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

Result<JsonValue> parse(std::string_view text, const std::string& path, const Limits& limits) {
  if (is_json_name(path)) return read_json(text, path);
  return is_toml_name(path) ? read_toml(text, path, limits) : read_yaml(text, path, limits);
}

Result<JsonValue> read_document(const std::string& path, const Limits& limits) {
  const auto text = TRY(read_text(path, limits));
  return parse(text, path, limits);
}

// The value at a path of keys; null where there is none.
const JsonValue* member_at(const JsonValue& root, std::string_view path) {
  const JsonValue* at = &root;
  while (at && !path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    at = at->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

// A path of a config in a file is of the folder that the program runs in, or of the file's.
std::string path_near(const std::string& file, const std::string& named) {
  if (path_exists(named) || named.starts_with('/')) return named;
  const size_t slash = file.rfind('/');
  const std::string near =
      path_in(slash == file.npos ? "" : std::string_view(file).substr(0, slash), named);
  return path_exists(near) ? near : named;
}

tl::unexpected<Diagnostics> of_nobody(const std::string& path) {
  std::string known;
  for (const TrainerProgram& program : trainer_programs())
    known += (known.empty() ? "" : ", ") + std::string(program.name);
  return error("E358", "its keys are not those of a known training program's file",
               {path, 0, 0, {}}, "read are " + known);
}

// The config of DeepSpeed that a file names, or holds.
Result<void> read_deepspeed(const JsonValue& outer, const std::string& path, const IsGiven& given,
                            const Limits& limits, TrainerFile& into) {
  const JsonValue* named = nullptr;
  for (const std::span<const TrainerKey> keys : into.program->keys) {
    for (const TrainerKey& key : keys) {
      if (key.use == TrainerKey::Use::kDeepSpeed) named = member_at(outer, key.key);
    }
  }
  if (!named || !asks_for_something(*named)) return {};
  static const TrainerProgram kDeepSpeed = deepspeed_program();
  std::string file = path;
  JsonValue root = *named;
  if (const std::string* name = named->string()) {
    file = path_near(path, *name);
    into.deepspeed = file;
    root = TRY(read_document(file, limits));
  }
  TrainerFile inner{
      .program = &kDeepSpeed, .settings = {}, .unused = {}, .deepspeed = {}, .warnings = {}};
  TRY(read_keys(root, file, given, inner));
  return take_deepspeed(inner, file, into);
}

}  // namespace

const TrainerProgram* program_of(const JsonValue& root) {
  for (const TrainerProgram& program : trainer_programs()) {
    const bool its = std::ranges::any_of(
        program.marks, [&](std::string_view mark) { return member_at(root, mark) != nullptr; });
    if (its) return &program;
  }
  return nullptr;
}

const TrainerProgram* program_of_file(const std::string& path, const Limits& limits) {
  const bool named = is_json_name(path) || is_toml_name(path) || is_yaml_name(path);
  if (!named || is_folder(path) || !path_exists(path)) return nullptr;
  const auto source = ByteSource::open(path, limits);
  if (!source || source->size() > kLargestToGuess) return nullptr;
  const auto text = whole_text(*source, limits);
  if (!text) return nullptr;
  const auto root = parse(*text, path, limits);
  return root && root->members() ? program_of(*root) : nullptr;
}

Result<TrainerFile> read_trainer_file(const std::string& path, const IsGiven& given,
                                      const Limits& limits) {
  const auto root = TRY(read_document(path, limits));
  if (!root.members()) return of_nobody(path);
  TrainerFile file;
  file.program = program_of(root);
  if (!file.program) return of_nobody(path);
  TRY(read_keys(root, path, given, file));
  TRY(read_deepspeed(root, path, given, limits, file));
  if (file.program->finish) file.program->finish(root, file.settings);
  return file;
}

}  // namespace plimsoll
