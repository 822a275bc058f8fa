// What serving takes, against published figures.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "estimator/app/search/largest_batch.h"
#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "estimator/settings/engines.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

// What a server says of its cache, as printed: so many tokens take `printed` times `unit` bytes.
struct Published {
  const char* source;
  const char* config;  // or a published one, "hf:NAME"
  int64_t layers;
  double printed, unit;  // in 16 bits
  double tokens = 1;
  double last_digit = 0;  // half of it is what the print may leave out; 0: exact
};

constexpr double kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib;
constexpr const char* kLlamaCpp =
    "what llama.cpp allocates at 2048 tokens: model dranger003/c4ai-command-r-v01-iMat.GGUF, "
    "discussion 6";
constexpr const char* kLmCache = "LMCache's docs/source/getting_started/faq.rst: per 1000 tokens";
constexpr const char* kGallery =
    "S. Raschka, LLM Architecture Gallery: KV cache / token (bf16), by KiB";

// Sizes that the cache does not depend on are small.
constexpr Published kPublished[] = {
    {"Kwon et al. 2023, arXiv:2309.06180: 800 KB of a token, OPT-13B",
     R"("model_type": "opt", "hidden_size": 5120, "num_attention_heads": 40, "ffn_dim": 64,
        "word_embed_proj_dim": 5120)",
     40, 800, kKib},
    {"Zhao et al. 2025, arXiv:2505.09343, table 1: DeepSeek-V3",
     R"("model_type": "deepseek_v3", "n_routed_experts": 4, "num_experts_per_tok": 2)", 61, 70.272,
     1e3},
    {"the same: Qwen-2.5 72B",
     R"("model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 64,
        "num_attention_heads": 64, "num_key_value_heads": 8)",
     80, 327.68, 1e3},
    {"the same: LLaMA-3.1 405B",
     R"("model_type": "llama", "hidden_size": 16384, "intermediate_size": 64,
        "num_attention_heads": 128, "num_key_value_heads": 8)",
     126, 516.096, 1e3},
    {kLlamaCpp, "hf:mistralai/Mixtral-8x7B-v0.1", 32, 256, kMib, 2048},
    {kLlamaCpp, "hf:meta-llama/Meta-Llama-3-8B", 32, 256, kMib, 2048},
    {kLlamaCpp, "hf:meta-llama/Meta-Llama-3-70B", 80, 640, kMib, 2048},
    // Qwen1.5-32B, Yi-1.5-34B and Command-R 35B, whose value heads are as many as its query heads.
    {kLlamaCpp,
     R"("model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 64,
        "num_attention_heads": 40, "num_key_value_heads": 8)",
     64, 512, kMib, 2048},
    {kLlamaCpp,
     R"("model_type": "llama", "hidden_size": 7168, "intermediate_size": 64,
        "num_attention_heads": 56, "num_key_value_heads": 8)",
     60, 480, kMib, 2048},
    {kLlamaCpp,
     R"("model_type": "cohere", "hidden_size": 8192, "intermediate_size": 64,
        "num_attention_heads": 64, "num_key_value_heads": 64)",
     40, 2560, kMib, 2048},
    {kLmCache, "hf:Qwen/Qwen3-8B", 36, 0.1373, kGib, 1000, 1e-4},
    {kLmCache, "hf:Qwen/Qwen3-32B", 64, 0.2441, kGib, 1000, 1e-4},
    {kLmCache, "hf:meta-llama/Llama-3.1-70B", 80, 0.3052, kGib, 1000, 1e-4},
    {"vLLM's log in vllm-project/vllm#10517: 1952 blocks of 16 tokens",
     "hf:meta-llama/Llama-3.1-8B", 32, 3.81, kGib, 1952 * 16, 0.01},
    {"SGLang's log in vllm-project/vllm#21348: 367,404 tokens, 8.23 GiB of keys on each of 4 GPUs",
     "hf:Qwen/Qwen3-235B-A22B", 94, 4 * 2 * 8.23, kGib, 367404, 4 * 2 * 0.01},
    {kGallery, R"("model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_inner": 64)", 48, 300,
     kKib},
    {kGallery,
     R"("model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 64,
        "num_attention_heads": 32)",
     32, 512, kKib},
    {kGallery, "hf:HuggingFaceTB/SmolLM3-3B", 36, 72, kKib},
    {kGallery, "hf:openai/gpt-oss-120b", 36, 72, kKib},
    {kGallery, "hf:openai/gpt-oss-20b", 24, 48, kKib},
    {kGallery, "hf:meta-llama/Llama-3.2-1B", 16, 32, kKib},
    {kGallery, "hf:Qwen/Qwen3-4B", 36, 144, kKib},
    {"the same: Gemma 3 27B, before its windows are full",
     R"("model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 64,
        "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128)",
     62, 496, kKib},
};

Request serving(const std::string& path, int64_t sequence) {
  Request request = test::request(path, "h100-sxm-80gb");
  request.batch = 2;
  request.dims["sequence"] = sequence;
  request.settings["layers"] = "1";
  request.recipe.mode = Mode::kInference;
  request.recipe.serve = request.serving = true;
  return request;
}

}  // namespace

TEST_CASE("serve: keys and values of a token are what has been published") {
  const test::Scratch scratch;
  for (const Published& one : kPublished) {
    CAPTURE(one.source);
    CAPTURE(one.config);
    const bool named = std::string_view(one.config).starts_with("hf:");
    const std::string model =
        named ? one.config
              : scratch.write("config.json",
                              fmt::format("{{{}, \"vocab_size\": 100, \"torch_dtype\": "
                                          "\"bfloat16\"}}",
                                          one.config));
    const auto e = estimate(serving(model, 16), test::hwdb());
    REQUIRE(e);
    REQUIRE(e->serve);
    const auto bytes = static_cast<double>(e->serve->kv_bytes_per_token * one.layers);
    const double printed = bytes * one.tokens / one.unit;
    CHECK(std::abs(printed - one.printed) <= one.last_digit / 2 + 1e-9 * one.printed);
    CHECK(e->serve->kv_bytes == 2 * 16 * e->serve->kv_bytes_per_token);
    CHECK(e->serve->decode_ns > 0);
    CHECK(e->serve->prefill_ns > 0);
    CHECK(e->serve->tokens_that_fit > 0);
  }
}

TEST_CASE("serve: vLLM takes its share of the card and has what a pass leaves, in blocks") {
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", R"({"model_type": "llama",
    "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_attention_heads": 32, "torch_dtype": "bfloat16"})");
  Request asked = serving(path, 4096);
  const auto whole = estimate(asked, test::hwdb());
  asked.server.engine = &*std::ranges::find(engines(), "vllm", &EngineRow::name);
  const auto shared = estimate(asked, test::hwdb());
  asked.server.memory_share = 0.5;
  const auto half = estimate(asked, test::hwdb());
  asked.server.pass_tokens = 65536;
  const auto long_pass = estimate(asked, test::hwdb());
  REQUIRE((whole && shared && half && long_pass));
  CHECK(whole->serve->engine == "transformers");
  CHECK(whole->serve->block_tokens == 1);
  const ServeEstimate& s = *shared->serve;
  CHECK(s.tokens_that_fit == s.cache_bytes / (16 * s.kv_bytes_per_token) * 16);
  CHECK(s.cache_bytes < 0.92 * static_cast<double>(shared->device_memory_bytes));
  // Another share of the same card, with the same pass.
  const double fewer = static_cast<double>(s.cache_bytes - half->serve->cache_bytes);
  CHECK(fewer == doctest::Approx(0.42 * static_cast<double>(shared->device_memory_bytes)));
  CHECK(long_pass->serve->cache_bytes < half->serve->cache_bytes);
}

TEST_CASE("serve: a share of the card holds a pass of an engine's tokens and the whole cache") {
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", R"({"model_type": "llama",
    "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_attention_heads": 32, "torch_dtype": "bfloat16"})");
  Request asked = serving(path, 32768);
  asked.settings["layers"] = "4";
  const auto all_at_once = estimate(asked, test::hwdb());
  asked.server.engine = &*std::ranges::find(engines(), "vllm", &EngineRow::name);
  for (const int64_t batch : {1, 2, 8, 30, 40}) {
    asked.batch = batch;
    const auto e = estimate(asked, test::hwdb());
    REQUIRE(e);
    CAPTURE(batch);
    CHECK(e->serve->kv_bytes == batch * 32768 * e->serve->kv_bytes_per_token);
    CHECK(e->usable_bytes < 0.92 * static_cast<double>(e->device_memory_bytes) + 1);
    CHECK(e->fits == (e->serve->kv_bytes <= e->serve->cache_bytes));
    CHECK(e->fits == (batch < 40));
    if (batch == 2)
      CHECK(e->memory.device_bytes < all_at_once->memory.device_bytes - (int64_t{1} << 30));
  }
  // Nothing else changes what a pass needs.
  asked.batch = 3;
  const auto three = estimate(asked, test::hwdb());
  asked.batch = 5;
  const auto five = estimate(asked, test::hwdb());
  REQUIRE((three && five));
  CHECK(five->serve->tokens_that_fit ==
        doctest::Approx(static_cast<double>(three->serve->tokens_that_fit)).epsilon(0.001));
}

TEST_CASE("serve: linear attention keeps a state of each sequence, of whatever length") {
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", R"({"model_type": "qwen3_5_text",
    "vocab_size": 1000, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 64, "linear_value_head_dim": 32,
    "torch_dtype": "bfloat16"})");
  const auto at = [&](int64_t batch, int64_t sequence) {
    Request request = serving(path, sequence);
    request.settings["layers"] = "8";
    request.batch = batch;
    const auto e = estimate(request, test::hwdb());
    REQUIRE(e);
    REQUIRE(e->serve);
    return *e->serve;
  };
  const ServeEstimate one = at(1, 200), two = at(2, 200), longer = at(2, 1200);
  // Two of eight layers attend: keys and values of 2 heads of 64 in 16 bits.
  const int64_t per_token = 2 * 2 * 2 * 64 * 2;
  // Six have a matrix of 64 x 32 in 32 bits for each of 4 heads, and the last 4 positions of the
  // 2 x 128 + 128 features that are convolved, in 16 bits.
  const int64_t state = 6 * (4 * 64 * 32 * 4 + 4 * (2 * 128 + 128) * 2);
  CHECK(one.kv_bytes_per_token == per_token);
  CHECK(one.kv_bytes == 200 * per_token + state);
  CHECK(two.kv_bytes == 2 * one.kv_bytes);
  CHECK(longer.kv_bytes == 2 * (1200 * per_token + state));
  CHECK(longer.tokens_that_fit == (longer.cache_bytes - 2 * state) / per_token);
}

TEST_CASE("engines: a card with much memory takes longer passes, but not an A100") {
  const EngineRow& vllm = *std::ranges::find(engines(), "vllm", &EngineRow::name);
  const auto tokens_on = [&](const char* id) {
    const auto platform = find_platform(test::hwdb(), Request{}, id);
    REQUIRE(platform);
    return limits_on(vllm, platform->device, platform->memory_bytes).tokens;
  };
  CHECK(tokens_on("h100-sxm-80gb") == 8192);
  CHECK(tokens_on("a100-sxm-80gb") == 2048);
  CHECK(tokens_on("rtx-4090") == 2048);
}

TEST_CASE("serve: a window caps what is kept, and training keeps nothing") {
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", R"({"model_type": "mistral",
    "vocab_size": 100, "hidden_size": 256, "intermediate_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "sliding_window": 32})");
  const auto e = estimate(serving(path, 128), test::hwdb());
  REQUIRE(e);
  CHECK(e->serve->kv_bytes == 2 * 32 * e->serve->kv_bytes_per_token);
  Request train = serving(path, 128);
  train.recipe.mode = Mode::kTrain;
  train.recipe.serve = train.serving = false;
  const auto trained = estimate(train, test::hwdb());
  REQUIRE(trained);
  CHECK_FALSE(trained->serve);
}

TEST_CASE("serve: a length beyond what the config states is told, and only where it is served") {
  const test::Scratch scratch;
  const auto config = [&](const std::string& more) {
    return scratch.write("config.json", R"({"model_type": "llama", "vocab_size": 100,
      "hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 4,
      "num_hidden_layers": 1, "max_position_embeddings": 64)" +
                                            more + "}");
  };
  const auto told = [](const Request& asked) {
    const Estimate e = test::answer(asked);
    return std::ranges::any_of(e.diagnostics, [](const Diagnostic& d) {
      return d.code == "W245" && d.message.starts_with("65 positions, but the config states 64");
    });
  };
  CHECK(told(serving(config(""), 65)));
  CHECK_FALSE(told(serving(config(""), 64)));
  CHECK_FALSE(
      told(serving(config(R"(, "rope_scaling": {"rope_type": "linear", "factor": 2.0})"), 65)));
  Request train = serving(config(""), 65);
  train.recipe.mode = Mode::kTrain;
  train.recipe.serve = train.serving = false;
  CHECK_FALSE(told(train));
  for (const auto& [more, most] :
       {std::pair{"", 64}, {R"(, "rope_scaling": {"rope_type": "dynamic", "factor": 3.0})", 192}}) {
    Request asked = serving(config(more), 1);
    asked.dims.clear();
    const auto found = largest_batch(asked, test::hwdb(), {.vary = "sequence"});
    REQUIRE_MESSAGE(found, found.error().front().message);
    CHECK(found->answer.safe == most);
    CHECK(found->answer.searched_to == most);
    CHECK(found->notes.diagnostics.back().message.starts_with(
        fmt::format("the search ends before sequence {}", most + 1)));
  }
}

}  // namespace plimsoll
