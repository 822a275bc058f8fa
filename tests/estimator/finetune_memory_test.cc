// What libraries of fine-tuning keep beside PyTorch's own step.
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// SmolLM2-135M: 30 blocks of width 576 and 1536, a table of 49152 rows that is the head too.
constexpr int64_t kBlocks = 30, kWidth = 576, kInner = 1536, kRows = 49152, kTokens = 64;
constexpr int64_t kHalf = 2;

Request qlora() {
  Request asked = test::request("hf:HuggingFaceTB/SmolLM2-135M", "a100-80gb", 1);
  asked.dims["sequence"] = kTokens;
  asked.recipe.finetune = {.kind = FinetuneKind::kQlora, .targets = "q_proj"};
  return asked;
}

}  // namespace

TEST_CASE("before 0.43.2 bitsandbytes keeps the inputs of quantized products") {
  Request asked = qlora();
  asked.recipe.finetune.prepared = Prepared::kNone;
  asked.recipe.finetune.adapters_wide = false;
  const int64_t newer = test::answer(asked).memory.saved_bytes;
  asked.recipe.finetune.keeps_inputs = true;
  // Attention keeps what o_proj reads, the adapter what q_proj, k_proj and v_proj do.
  CHECK(test::answer(asked).memory.saved_bytes - newer ==
        kBlocks * kTokens * (kWidth + kInner) * kHalf);
}

TEST_CASE("Fabric quantizes the head too, and widens by way of fp16") {
  Request asked = qlora();
  asked.model = "hf:meta-llama/Llama-2-7b-hf";  // whose head is none of the embedding's table
  asked.recipe.precision = find_precision("bf16");
  asked.recipe.finetune.prepared = Prepared::kNone;
  const Estimate usual = test::answer(asked);
  asked.recipe.finetune.quantizer = Quantizer::kFabric;
  const Estimate fabric = test::answer(asked);
  constexpr int64_t kHead = 32000 * 4096;
  // Two bytes an element become half a byte, a scale of 8 bits for 64 and one of 32 for 256 of
  // those.
  const int64_t less = usual.memory.parameter_bytes - fabric.memory.parameter_bytes;
  CHECK(less > kHead * 3 / 2 - kHead / 50);
  CHECK(less < kHead * 3 / 2);
  // What the head's product needs of it, twice, where the largest of others needed its own once.
  constexpr int64_t kLargest = 4096 * 11008 * kHalf;
  CHECK(fabric.memory.live_peak_bytes - usual.memory.live_peak_bytes >
        2 * kHead * kHalf - less - kLargest);
}

TEST_CASE("adapters in their block's array of FSDP1 leave its whole gradient between passes") {
  Request asked = test::request("hf:meta-llama/Llama-2-7b-hf", "a100-80gb", 1);
  asked.dims["sequence"] = kTokens;
  asked.gpu_count = 2;
  asked.recipe.accumulate = 2;
  asked.recipe.precision = find_precision("bf16");
  asked.recipe.checkpoint = "blocks";
  asked.recipe.finetune = {.kind = FinetuneKind::kLora, .targets = "q_proj"};
  asked.recipe.finetune.adapters_wide = false;
  asked.parallel.fsdp = true;
  asked.parallel.fsdp_version = 1;
  asked.parallel.no_sync = true;
  const int64_t apart = test::answer(asked).memory.live_peak_bytes;
  asked.parallel.adapters_in_blocks = true;
  constexpr int64_t kBlock = 4 * 4096 * 4096 + 3 * 4096 * 11008;
  // Of all blocks but one, which the gradients' peak has anyway.
  CHECK(test::answer(asked).memory.live_peak_bytes - apart > 31 * kBlock * kHalf);
}

TEST_CASE("of a model that TRL prepared norms alone stay in 32 bits") {
  Request asked = qlora();
  const int64_t all = test::answer(asked).memory.parameter_bytes;
  asked.recipe.finetune.prepared = Prepared::kNorms;
  const int64_t norms = test::answer(asked).memory.parameter_bytes;
  CHECK(all - norms == kRows * kWidth * kHalf);
  asked.recipe.finetune.prepared = Prepared::kNone;
  CHECK(norms - test::answer(asked).memory.parameter_bytes == (2 * kBlocks + 1) * kWidth * kHalf);
}

TEST_CASE("adapters in the type of their layer take half") {
  Request asked = qlora();
  const int64_t wide = test::answer(asked).memory.gradient_bytes;
  asked.recipe.finetune.prepared = Prepared::kNone;
  asked.recipe.finetune.adapters_wide = false;
  CHECK(test::answer(asked).memory.gradient_bytes == wide / 2);
}

}  // namespace plimsoll
