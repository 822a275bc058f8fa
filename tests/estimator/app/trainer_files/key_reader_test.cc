// Words of keys: what is refused because the step would be predicted too low, and switches of YAML.
#include "estimator/app/trainer_files/key_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "estimator/app/trainer_files/trainer_file.h"
#include "estimator/settings/setting_row.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

using Texts = std::map<std::string, std::string>;

const std::string kBatch = "per_device_train_batch_size: 4\n";

Result<TrainerFile> read_text(const std::string& text) {
  const test::Scratch scratch;
  return read_trainer_file(scratch.write("a.yaml", text), [](std::string_view) { return false; });
}

Texts texts_in(const std::string& text) {
  const auto file = read_text(text);
  REQUIRE(file);
  Texts texts;
  for (const TrainerSettings::One& one : file->settings.all())
    texts[std::string(one.row->name)] = one.text;
  return texts;
}

}  // namespace

TEST_CASE("trainings that take more than this step are refused, not answered too low") {
  for (const char* key :
       {"beta: 0.1", "max_prompt_length: 128", "desirable_weight: 1.0", "num_generations: 8",
        "num_ppo_epochs: 4", "center_rewards_coefficient: 0.01", "label_smoothing_factor: 0.1"}) {
    CAPTURE(key);
    const auto file = read_text(kBatch + key + "\n");
    REQUIRE_FALSE(file);
    CHECK(file.error().front().code == "E357");
    CHECK(file.error().front().place.line == 2);
  }
  CHECK(read_text(kBatch + "label_smoothing_factor: 0.0\nmax_prompt_length: null\n"));
}

// yaml.org/type/bool.html: Python's reader takes these words for true and false.
TEST_CASE("yes, on, no and off are YAML's true and false") {
  for (const char* yes : {"yes", "on", "True", "ON"}) {
    CAPTURE(yes);
    const Texts texts = texts_in(fmt::format("{0}bf16: {1}\ntorch_compile: {1}\n", kBatch, yes));
    CHECK(texts.at("precision") == "amp-bf16");
    CHECK(texts.contains("compile"));
  }
  for (const char* no : {"no", "off", "False", "Off"}) {
    CAPTURE(no);
    const Texts texts = texts_in(
        fmt::format("{0}bf16: {1}\ntorch_compile: {1}\ngradient_checkpointing: {1}\n", kBatch, no));
    CHECK_FALSE(texts.contains("precision"));
    CHECK_FALSE(texts.contains("compile"));
    CHECK(texts.at("checkpoint") == "none");
  }
}

}  // namespace plimsoll
