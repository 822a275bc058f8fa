// The words of a record, and what they stand for.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "graph/ir/step.h"

namespace plimsoll {

inline constexpr std::array<std::pair<std::string_view, DType>, 20> kRecordedTypes{{
    {"float32", DType::kFloat32},
    {"float64", DType::kFloat64},
    {"float16", DType::kFloat16},
    {"bfloat16", DType::kBFloat16},
    {"int64", DType::kInt64},
    {"int32", DType::kInt32},
    {"int16", DType::kInt16},
    {"int8", DType::kInt8},
    {"uint8", DType::kUint8},
    {"uint16", DType::kUint16},
    {"uint32", DType::kUint32},
    {"uint64", DType::kUint64},
    {"bool", DType::kBool},
    {"complex64", DType::kComplex64},
    {"complex128", DType::kComplex128},
    {"float8_e4m3fn", DType::kFloat8E4M3},
    {"float8_e4m3fnuz", DType::kFloat8E4M3Fnuz},
    {"float8_e5m2", DType::kFloat8E5M2},
    {"float8_e5m2fnuz", DType::kFloat8E5M2Fnuz},
    {"complex32", DType::kFloat32},  // as wide
}};

inline constexpr std::array<std::pair<std::string_view, Role>, 7> kRecordedRoles{{
    {"parameter", Role::kParameter},
    {"buffer", Role::kBuffer},
    {"gradient", Role::kGradient},
    {"optimizer_state", Role::kOptimizerState},
    {"input", Role::kInput},
    {"feature_map", Role::kFeatureMap},
    {"temporary", Role::kTemporary},
}};

inline constexpr std::array<std::pair<std::string_view, Phase>, 4> kRecordedPhases{{
    {"forward", Phase::kForward},
    {"loss", Phase::kLoss},
    {"backward", Phase::kBackward},
    {"update", Phase::kUpdate},
}};

inline constexpr std::array<std::pair<std::string_view, CollectiveKind>, 8> kRecordedCollectives{{
    {"all_reduce", CollectiveKind::kAllReduce},
    {"broadcast", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
    {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"all_to_all", CollectiveKind::kAllToAll},
    {"send", CollectiveKind::kSendReceive},
    {"receive", CollectiveKind::kSendReceive},
}};

}  // namespace plimsoll
