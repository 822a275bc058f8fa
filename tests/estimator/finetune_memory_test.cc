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
