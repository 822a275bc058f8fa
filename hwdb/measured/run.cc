#include "hwdb/measured/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/text.h"
#include "hwdb/version.h"

namespace plimsoll {
namespace {

// The first version in words such as "tf 1.3.0rc1" or "1.4 per README"; a year is none.
std::optional<Version> version_in(std::string_view text, size_t least_numbers) {
  const size_t digit = text.find_first_of("0123456789");
  if (digit == text.npos) return std::nullopt;
  const auto version = parse_version(text.substr(digit));
  const bool sound =
      version && version->numbers.size() >= least_numbers && version->numbers[0] < 100;
  return sound ? version : std::nullopt;
}

// Whether a number behind these words is of this framework: "" and "v" are of the one that is named
// first, "tf" of TensorFlow, "nemo" of none here.
bool is_version_of(std::string_view words, std::string_view id, bool named_first) {
  if (words.empty() || words == "v") return named_first;
  return words == id || (words == "tf" && id == "tensorflow") ||
         (words == "torch" && id == "pytorch");
}

}  // namespace

std::optional<double> MeasuredRun::value(std::string_view measurement) const {
  for (const Measurement& one : measured) {
    if (one.name == measurement) return one.value;
  }
  return std::nullopt;
}

bool MeasuredRun::has_flag(std::string_view prefix) const {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const std::string& flag) { return flag.starts_with(prefix); });
}

bool MeasuredRun::ended_out_of_memory() const {
  return result.starts_with("OOM") || out_of_memory.value_or(false) || has_flag("out_of_memory");
}

bool MeasuredRun::doubtful() const {
  for (const char* prefix :
       {"suspect_", "implausibly_", "two_files_disagree", "input_bound", "near_capacity",
        "sequence_length_varies", "do_not_use_for_fitting", "model_shape_only_as_size"}) {
    if (has_flag(prefix)) return true;
  }
  return false;
}

bool MeasuredRun::shares_storages() const {
  return memory_option.find("optnet") != std::string::npos && framework_id().starts_with("torch7");
}

std::string MeasuredRun::framework_id() const {
  // As sources write them. The first that is contained wins: "caffe2" stands before "caffe".
  struct Word {
    std::string_view word, id;
  };
  constexpr Word kWords[] = {
      {"torch7", "torch7"},
      {"pytorch", "pytorch"},
      {"tensorflow", "tensorflow"},
      {"keras(cntk)", "cntk"},
      {"keras(theano)", "theano"},
      {"keras", "tensorflow"},
      {"tensorpack", "tensorflow"},
      {"tflearn", "tensorflow"},
      {"tf_cnn", "tensorflow"},
      {"mxnet", "mxnet"},
      {"cntk", "cntk"},
      {"detectron", "detectron"},
      {"caffe2", "caffe2"},
      {"caffe", "caffe"},
      {"theano", "theano"},
      {"chainer", "chainer"},
      {"neon", "neon"},
      {"torch", "torch7"},
      {"megatron", "pytorch"},
      {"deepspeed", "pytorch"},
      {"internevo", "pytorch"},
      {"nemo", "pytorch"},
  };
  const std::string lower = lower_case(framework);
  const std::string version_text = lower_case(framework_version);
  const std::string_view before =
      trimmed(std::string_view(version_text).substr(0, version_text.find_first_of("0123456789")));
  for (const auto& [word, id] : kWords) {
    const size_t at = lower.find(word);
    if (at == lower.npos) continue;
    auto version = is_version_of(before, id, lower.starts_with(id)) ? version_in(version_text, 1)
                                                                    : std::nullopt;
    // Torch7 had no versions.
    if (word == "torch" && version_in(version_text, 1))
      return "pytorch-" + version_in(version_text, 1)->text();
    // What follows the framework's own name: "tensorflow v1.2", but not "tensorpack 0.8".
    if (!version && word == id) version = version_in(lower.substr(at + word.size()), 2);
    return version ? fmt::format("{}-{}", id, version->text()) : std::string(id);
  }
  return {};
}

}  // namespace plimsoll
