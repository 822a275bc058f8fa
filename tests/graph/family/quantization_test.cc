#include "graph/family/quantization.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/json/reader.h"

namespace plimsoll {
namespace {

// The row's name, "none", or the code of the refusal.
std::string row_of(const std::string& quantization, Diagnostics* warnings = nullptr) {
  const auto root = read_json("{" + quantization + "}", "config.json");
  REQUIRE(root);
  Diagnostics ignored;
  const auto row = checkpoint_quantization(*root, "config.json", warnings ? *warnings : ignored);
  if (!row) return row.error().front().code;
  return *row ? std::string((*row)->name) : "none";
}

std::string method(const std::string& keys) {
  return row_of(R"("quantization_config": {"quant_method": )" + keys + "}");
}

}  // namespace

TEST_CASE("a checkpoint's quantization is a row, by its method's own keys") {
  CHECK(row_of("") == "none");
  CHECK(row_of(R"("quantization_config": null)") == "none");
  CHECK(method(R"("awq", "bits": 4, "group_size": 128, "zero_point": true)") == "gptq-4bit");
  CHECK(method(R"("gptq", "bits": 4, "group_size": 128, "desc_act": false)") == "gptq-4bit");
  CHECK(method(R"("gptq", "bits": 4, "group_size": 32)") == "gptq-4bit-32");
  CHECK(method(R"("gptq", "bits": 4, "group_size": -1)") == "gptq-4bit-row");
  CHECK(method(R"("fp8", "weight_block_size": [128, 128])") == "fp8");
  CHECK(method(R"("bitsandbytes", "load_in_8bit": true)") == "int8");
  CHECK(method(R"("bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4")") == "nf4");
  CHECK(method(R"("bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true)") ==
        "nf4-double");
  CHECK(row_of(R"("quantization_config": {"load_in_8bit": true})") == "int8");
  const auto weights = [](const std::string& keys) {
    return method(R"("compressed-tensors", "config_groups": {"group_0": {"weights": {)" + keys +
                  "}}}");
  };
  CHECK(weights(R"("num_bits": 4, "type": "int", "group_size": 128)") == "gptq-4bit");
  CHECK(weights(R"("num_bits": 8, "type": "float")") == "fp8");
  CHECK(weights(R"("num_bits": 8, "type": "int")") == "int8");
}

TEST_CASE("what no row stands for is refused by name, and MXFP4 is widened with a warning") {
  CHECK(method(R"("gptq", "bits": 3)") == "E356");
  CHECK(method(R"("aqlm")") == "E356");
  CHECK(row_of(R"("quantization_config": {})") == "E356");
  CHECK(row_of(R"("quantization_config": 4)") == "E356");
  Diagnostics warnings;
  CHECK(row_of(R"("quantization_config": {"quant_method": "mxfp4"})", &warnings) == "none");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().code == "W238");
}

}  // namespace plimsoll
