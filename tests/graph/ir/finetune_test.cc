#include "graph/ir/finetune.h"

#include <doctest/doctest.h>

#include <set>

namespace plimsoll {

TEST_CASE("forms of frozen weights have names, bits and a source each") {
  std::set<std::string_view> names;
  for (const QuantizationRow& row : quantizations()) {
    CHECK(names.insert(row.name).second);
    CHECK(row.bits > 0);
    CHECK_FALSE(row.source.empty());
    CHECK(find_quantization(row.name) == &row);
  }
  CHECK(find_quantization("nf5") == nullptr);
}

TEST_CASE("QLoRA stores nf4 with scales of scales, unless another form is asked for") {
  CHECK(quantization_of({}) == nullptr);
  CHECK(quantization_of({.kind = FinetuneKind::kLora}) == nullptr);
  CHECK(quantization_of({.kind = FinetuneKind::kQlora})->name == "nf4-double");
  CHECK(quantization_of({.kind = FinetuneKind::kQlora, .quantize = find_quantization("int8")})
            ->name == "int8");
}

}  // namespace plimsoll
