// What loading weights takes, against what PyTorch's FSDP1, FSDP2, load_state_dict() and half()
// allocate on fake tensors (tests/oracles/loading_steps.py), to the byte.
#include "estimator/memory/loading_memory.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "estimator/estimator.h"
#include "estimator/settings/given_settings.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

struct Choice {
  std::string_view setting;
  std::string text;
};

Request request_of(const std::string& model, const std::vector<Choice>& choices) {
  GivenSettings given;
  given.model = model;
  for (const auto& [name, text] : choices) given.add(*find_setting(name), text);
  auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

MemoryEstimate memory_of(const std::string& model, const std::vector<Choice>& choices) {
  const auto got = estimate(request_of(model, choices), Hwdb::open({}).value());
  REQUIRE(got);
  return got->memory;
}

std::vector<Choice> settings_of(const nlohmann::json& one) {
  std::vector<Choice> choices = {{"gpu", "h100-sxm-80gb"}, {"batch", "4"},
                                 {"load", one["how"]},     {"precision", one["precision"]},
                                 {"optimizer", "adam"},    {"loss", "sum"}};
  if (const std::string library = one["library"]; library != "none") {
    choices.push_back({"gpus", std::to_string(one["ranks"].get<int>())});
    choices.push_back({"fsdp", "all"});
    choices.push_back({"fsdp-version", library.substr(4)});
  }
  return choices;
}

// Llama's shapes, small enough for a test and large enough for a card of its own size.
constexpr std::string_view kLlama = R"({"model_type": "llama", "hidden_size": 1024,
  "intermediate_size": 2816, "num_hidden_layers": 24, "num_attention_heads": 8,
  "num_key_value_heads": 8, "vocab_size": 64000, "max_position_embeddings": 512,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";

}  // namespace

TEST_CASE("loading weights takes what PyTorch takes") {
  const auto golden = test::read_golden("sharded/loading.json");
  const test::Scratch scratch;
  constexpr int64_t kSmallSegment = 2 << 20;
  size_t count = 0, other_reserved = 0;
  for (const auto& model : golden["models"]) {
    const std::string path = scratch.write("model.json", model["config"].dump());
    for (const auto& one : model["cases"]) {
      CAPTURE(model["name"].get<std::string>());
      CAPTURE(one.dump());
      const MemoryEstimate m = memory_of(path, settings_of(one));
      REQUIRE(m.loading);
      CHECK(m.loading->live_peak_bytes == one["peak"].get<int64_t>());
      // A segment of small blocks apart where free ones are taken in another order.
      const int64_t apart = m.loading->reserved_bytes - one["reserved"].get<int64_t>();
      CHECK(std::abs(apart) <= kSmallSegment);
      other_reserved += apart != 0;
      CHECK(m.loading->allocated_peak_bytes >= m.loading->live_peak_bytes);
      CHECK(m.loading->holds_peak ==
            (m.loading->live_peak_bytes > m.loading->step_live_peak_bytes));
      CHECK(m.live_peak_bytes ==
            std::max(m.loading->live_peak_bytes, m.loading->step_live_peak_bytes));
      CHECK(m.reserved_bytes >= m.loading->reserved_bytes);
      ++count;
    }
  }
  CHECK(count == 125);
  CHECK(other_reserved == 3);
}

TEST_CASE("weights come as they stay unless a library joins them or the user says so") {
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", std::string(kLlama));
  const std::vector<Choice> one = {
      {"gpu", "h100-sxm-80gb"}, {"batch", "1"}, {"dim", "sequence=64"}};
  CHECK_FALSE(memory_of(path, one).loading);
  auto fsdp = one;
  fsdp.insert(fsdp.end(), {{"gpus", "4"}, {"fsdp", "all"}, {"fsdp-version", "2"}});
  CHECK_FALSE(memory_of(path, fsdp).loading);
  fsdp.back().text = "1";
  const MemoryEstimate flat = memory_of(path, fsdp);
  REQUIRE(flat.loading);
  CHECK(flat.loading->how == "units");
  fsdp.push_back({"load", "parts"});
  CHECK_FALSE(memory_of(path, fsdp).loading);
}

TEST_CASE("a whole model on each GPU may be the peak, whatever the batch is") {
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", std::string(kLlama));
  std::vector<Choice> choices = {
      {"gpu", "h100-sxm-80gb"}, {"gpus", "8"},         {"dim", "sequence=64"},
      {"finetune", "lora"},     {"fsdp", "all"},       {"fsdp-version", "2"},
      {"load", "whole"},        {"precision", "bf16"}, {"batch", "1"}};
  const MemoryEstimate whole = memory_of(path, choices);
  REQUIRE(whole.in_loading());
  CHECK(peak_moment(whole) == "loading");
  CHECK(whole.live_peak_bytes >= whole.parameter_count * 2);
  choices.back().text = "2";
  CHECK(memory_of(path, choices).live_peak_bytes == whole.live_peak_bytes);
}

}  // namespace plimsoll
