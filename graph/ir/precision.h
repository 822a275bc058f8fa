// Precisions: in which types a step stores and multiplies. One row each, all of which commands,
// schemas and measured records take their words from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "graph/base/dtype.h"

namespace plimsoll {

struct PrecisionRow {
  std::string_view name;             // "amp-bf16"
  DType storage = DType::kFloat32;   // of parameters and inputs
  std::optional<DType> autocast{};   // products and convolutions read this type, cast as they run
  std::optional<DType> products{};   // operands of linear layers' products, cast for each of them
  std::optional<DType> master{};     // of the optimizer's own copies of what is stored in 16 bits
  bool master_gradients = false;     // made behind each backward pass; else cast at the update
  bool batch_norms_in_fp32 = false;  // their weights and statistics stay as they are
  bool tf32 = false;                 // fp32 operands may go to tensor cores in reduced precision
  bool loss_scaler = false;          // small gradients of fp16 are kept from vanishing
  std::string_view also{};           // other words that records of measured runs begin with
  std::string_view source{};         // what switches it on
};

// All rows; the first is what runs unless another one is asked for.
std::span<const PrecisionRow> precisions();
// Nothing where no row has the name.
const PrecisionRow* find_precision(std::string_view name);
// The row whose name, or other word, is the longest that the text begins with: "bf16 (autocast)".
const PrecisionRow* spoken_precision(std::string_view text);

// The type that products read: their own, the autocast type, or what is stored.
DType product_type(const PrecisionRow& row);
// Products of 16 bits or fewer.
bool is_half(const PrecisionRow& row);

}  // namespace plimsoll
