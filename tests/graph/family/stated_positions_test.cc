#include "graph/family/stated_positions.h"

#include <doctest/doctest.h>

#include "graph/json/reader.h"

namespace plimsoll {
namespace {

std::optional<int64_t> stated(std::string_view config) {
  const auto root = read_json(config, "config.json");
  REQUIRE(root);
  return stated_positions(*root);
}

TEST_CASE("stated positions: the least of the lengths, and Command-R's before others") {
  CHECK(stated(R"({"max_position_embeddings": 32768})") == 32768);
  CHECK(stated(R"({"max_position_embeddings": 8192, "n_positions": 2048})") == 2048);
  CHECK(stated(R"({"max_position_embeddings": 8192, "model_max_length": 131072})") == 131072);
  CHECK(stated(R"({"seq_length": 2048})") == 2048);
  CHECK(stated(R"({"hidden_size": 64})") == std::nullopt);
  CHECK(stated(R"({"max_position_embeddings": null})") == std::nullopt);
  CHECK(stated(R"({"max_position_embeddings": "8192"})") == std::nullopt);
  CHECK(stated(R"({"max_position_embeddings": -1})") == std::nullopt);
}

// By the rules of vLLM (stated_positions.h).
TEST_CASE("stated positions: what scales rotary embeddings reaches further, if it is not counted") {
  CHECK(stated(R"({"max_position_embeddings": 4096,
                   "rope_scaling": {"type": "linear", "factor": 8.0}})") == 32768);
  CHECK(stated(R"({"max_position_embeddings": 4096,
                   "rope_scaling": {"type": "dynamic", "factor": 2.5}})") == 10240);
  // Qwen's documentation of long contexts; DeepSeek-V3 states both.
  CHECK(stated(R"({"max_position_embeddings": 32768, "rope_scaling": {"rope_type": "yarn",
                   "factor": 4.0, "original_max_position_embeddings": 32768}})") == 131072);
  CHECK(stated(R"({"max_position_embeddings": 163840, "rope_scaling": {"type": "yarn",
                   "factor": 40, "original_max_position_embeddings": 4096}})") == 163840);
  // Llama 3.1's, Phi-3's and Gemma 3's lengths are the scaled ones.
  CHECK(stated(R"({"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3",
                   "factor": 8.0, "original_max_position_embeddings": 8192}})") == 131072);
  CHECK(stated(R"({"max_position_embeddings": 131072,
                   "rope_scaling": {"type": "longrope"}})") == 131072);
  CHECK(stated(R"({"model_type": "gemma3_text", "max_position_embeddings": 131072,
                   "rope_scaling": {"rope_type": "linear", "factor": 8.0}})") == 131072);
  // transformers 5: of each type of layers.
  CHECK(stated(R"({"max_position_embeddings": 4096, "rope_parameters": {"full_attention":
                   {"rope_type": "linear", "factor": 2.0}}})") == 8192);
  CHECK(stated(R"({"max_position_embeddings": 4096,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}})") == 4096);
}

TEST_CASE("stated positions: a scaling that is no number changes nothing") {
  for (const char* scaling :
       {"null", "[]", "{}", "8", R"({"type": "linear", "factor": "8"})",
        R"({"type": "linear", "factor": -1})", R"({"type": "linear", "factor": 1e300})"})
    CHECK(stated(std::string(R"({"max_position_embeddings": 4096, "rope_scaling": )") + scaling +
                 "}") == 4096);
}

}  // namespace
}  // namespace plimsoll
