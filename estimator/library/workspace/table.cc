#include "estimator/library/workspace/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace plimsoll {
namespace {

constexpr uint8_t kNoPlan = 255, kException = 254, kPreferredException = 253, kLater = 127;
constexpr size_t kExceptionBytes = 6;

uint64_t little_endian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// What tells a layer from others, in the order of the list's columns.
std::array<int64_t, LayerList::kNumbers> numbers_of(const WorkspaceShape& v) {
  return {v.c,     v.h,        v.w,        v.k,     v.r,     v.s,     v.pad_h,
          v.pad_w, v.stride_h, v.stride_w, v.dil_h, v.dil_w, v.groups};
}

template <class Numbers>
uint64_t hash(const Numbers& numbers) {
  uint64_t h = 0;
  for (const auto number : numbers) {
    h = (h ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    h ^= h >> 29;
  }
  return h;
}

tl::unexpected<Diagnostics> damaged(const char* what) {
  return error("E301", std::string(what) + " of cuDNN workspaces is damaged");
}

}  // namespace

Result<LayerList> LayerList::read(std::string_view bytes) {
  if (bytes.size() < 8 || bytes.substr(0, 4) != "PLL1") return damaged("the list of layers");
  const size_t count = little_endian(bytes, 4, 4);
  if (bytes.size() != 8 + 2 * kNumbers * count) return damaged("the list of layers");
  LayerList list;
  list.layers_.resize(count);
  size_t at = 8;
  for (size_t column = 0; column < kNumbers; ++column) {
    for (auto& layer : list.layers_) {
      layer[column] = static_cast<uint16_t>(little_endian(bytes, at, 2));
      at += 2;
    }
  }
  size_t places = 16;
  while (places < 2 * count) places *= 2;
  list.buckets_.resize(places);
  for (size_t i = 0; i < count; ++i) {
    size_t place = hash(list.layers_[i]) & (places - 1);
    while (list.buckets_[place] != 0) place = (place + 1) & (places - 1);
    list.buckets_[place] = static_cast<uint32_t>(i + 1);
  }
  return list;
}

std::optional<uint32_t> LayerList::find(const WorkspaceShape& shape) const {
  const auto wanted = numbers_of(shape);
  size_t place = hash(wanted) & (buckets_.size() - 1);
  for (; buckets_[place] != 0; place = (place + 1) & (buckets_.size() - 1)) {
    if (std::ranges::equal(layers_[buckets_[place] - 1], wanted)) return buckets_[place] - 1;
  }
  return std::nullopt;
}

WorkspaceShape LayerList::shape(size_t layer, int64_t batch) const {
  const auto& l = layers_[layer];
  WorkspaceShape v{.n = batch,
                   .c = l[0],
                   .h = l[1],
                   .w = l[2],
                   .k = l[3],
                   .r = l[4],
                   .s = l[5],
                   .pad_h = l[6],
                   .pad_w = l[7],
                   .stride_h = l[8],
                   .stride_w = l[9],
                   .dil_h = l[10],
                   .dil_w = l[11],
                   .groups = l[12]};
  v.p = (v.h + 2 * v.pad_h - v.dil_h * (v.r - 1) - 1) / v.stride_h + 1;
  v.q = (v.w + 2 * v.pad_w - v.dil_w * (v.s - 1) - 1) / v.stride_w + 1;
  return v;
}

Result<WorkspaceTable> WorkspaceTable::read(std::string owned) {
  WorkspaceTable table;
  table.bytes_ = std::move(owned);
  const std::string_view bytes = table.bytes_;
  if (bytes.size() < 12 || bytes.substr(0, 4) != "PLW1") return damaged("a table");
  table.layers_ = little_endian(bytes, 4, 4);
  const size_t batches = table.byte(8), plans = table.byte(9);
  const size_t problems = table.layers_ * batches * 3;
  table.columns_ = 12 + 4 * batches + 8 * plans;
  table.exceptions_ = table.columns_ + 3 * problems;
  if (batches == 0 || bytes.size() < table.exceptions_) return damaged("a table");
  for (size_t i = 0; i < batches; ++i) {
    table.batches_.push_back(static_cast<int64_t>(little_endian(bytes, 12 + 4 * i, 4)));
    if (table.batches_.back() == 0) return damaged("a table");
  }
  for (size_t i = 0; i < plans; ++i) {
    const size_t at = 12 + 4 * batches + 8 * i;
    table.plans_.push_back({.engine = table.byte(at),
                            .tile = static_cast<int8_t>(table.byte(at + 1)),
                            .tensor_core = table.byte(at + 2) != 0,
                            .parts = table.byte(at + 3),
                            .extra = static_cast<int32_t>(little_endian(bytes, at + 4, 4))});
  }
  size_t exceptions = 0;
  for (size_t column = 0; column < 2; ++column) {
    enum class Meaning : uint8_t { kPlan, kException, kDamaged };
    std::array<Meaning, 256> meanings;
    for (size_t code = 0; code < meanings.size(); ++code) {
      const bool exception = code == kException || (column == 1 && code == kPreferredException);
      const size_t known = column == 1 && code >= kLater ? code - kLater : code;
      meanings[code] = exception                          ? Meaning::kException
                       : code == kNoPlan || known < plans ? Meaning::kPlan
                                                          : Meaning::kDamaged;
    }
    const std::string_view codes = bytes.substr(table.columns_ + column * problems, problems);
    for (size_t i = 0; i < codes.size(); ++i) {
      const Meaning meaning = meanings[static_cast<uint8_t>(codes[i])];
      if (meaning == Meaning::kPlan) continue;  // nearly all
      if (meaning == Meaning::kDamaged) return damaged("a table");
      table.exceptions_of_[column].push_back(static_cast<uint32_t>(i));
    }
    exceptions += table.exceptions_of_[column].size();
  }
  if (bytes.size() != table.exceptions_ + kExceptionBytes * exceptions) return damaged("a table");
  return table;
}

std::optional<KnownPlan> WorkspaceTable::plan(int column, size_t index, const WorkspaceShape& shape,
                                              Pass pass, DType dtype) const {
  const size_t problems = layers_ * batches_.size() * 3;
  uint8_t code = byte(columns_ + static_cast<size_t>(column) * problems + index);
  if (code == kNoPlan) return std::nullopt;
  if (code == kException || (column == 1 && code == kPreferredException)) {
    const auto& list = exceptions_of_[column];
    const auto at = std::lower_bound(list.begin(), list.end(), static_cast<uint32_t>(index));
    const size_t row =
        static_cast<size_t>(at - list.begin()) + (column == 1 ? exceptions_of_[0].size() : 0);
    const size_t rows = exceptions_of_[0].size() + exceptions_of_[1].size();
    KnownPlan known{.form = {.engine = byte(exceptions_ + row), .tensor_core = column == 1},
                    .exception = true};
    for (size_t i = 0; i < 5; ++i) {
      known.bytes |= static_cast<int64_t>(byte(exceptions_ + (i + 1) * rows + row)) << (8 * i);
    }
    return known;
  }
  if (column == 1 && code >= kLater) code = static_cast<uint8_t>(code - kLater);
  const auto bytes = workspace_bytes(plans_[code], pass, shape, dtype);
  if (!bytes) return std::nullopt;
  return KnownPlan{.form = plans_[code], .bytes = *bytes};
}

KnownPlans WorkspaceTable::find(uint32_t layer, const WorkspaceShape& shape, Pass pass,
                                DType dtype) const {
  const auto distance = [&](int64_t batch) {
    return std::abs(std::log2(static_cast<double>(batch) / static_cast<double>(shape.n)));
  };
  size_t batch = 0;
  double least = distance(batches_[0]);
  for (size_t i = 1; i < batches_.size(); ++i) {
    const double here = distance(batches_[i]);
    if (here < least) {
      batch = i;
      least = here;
    }
  }
  const size_t index = (layer * batches_.size() + batch) * 3 + static_cast<size_t>(pass);
  const size_t problems = layers_ * batches_.size() * 3;
  KnownPlans known;
  known.batch = batches_[batch];
  known.plain = plan(0, index, shape, pass, dtype);
  known.tensor = plan(1, index, shape, pass, dtype);
  const uint8_t code = byte(columns_ + problems + index);
  known.tensor_first = code < kLater || code == kPreferredException;
  const int largest = byte(columns_ + 2 * problems + index);
  const double scale = static_cast<double>(shape.n) / static_cast<double>(known.batch);
  if (largest > 0) {
    constexpr double kMost = 0x1p60;  // of a damaged table or an absurd batch: no card has as much
    known.largest = static_cast<int64_t>(std::min(kMost, std::exp2((largest - 1) / 4.0) * scale));
  }
  for (const auto& plan : {known.plain, known.tensor}) {
    if (plan) known.largest = std::max(known.largest, plan->bytes);
  }
  return known;
}

}  // namespace plimsoll
