#include "graph/eager/data_parallel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/mebibyte.h"

namespace plimsoll::eager {
namespace {

using test::kMiB;

// Bytes of the buckets made for parameters of these many MiB.
std::vector<int64_t> buckets(std::initializer_list<int64_t> parameters, bool parallel) {
  Recipe recipe;
  Policy policy;
  if (parallel) {
    policy.gradient_bucket_bytes = 25 * kMiB;
    policy.first_gradient_bucket_bytes = kMiB;
  }
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  for (const int64_t size : parameters) m.parameter(DType::kFloat32, {Dim(size * kMiB / 4)});
  make_gradient_buckets(m);
  std::vector<int64_t> sizes;
  for (const Buffer& buffer : m.finish().buffers) {
    if (buffer.role == Role::kTemporary) sizes.push_back(buffer.bytes.constant_term() / kMiB);
  }
  return sizes;
}

}  // namespace

TEST_CASE("gradient buckets: closed by the tensor that reaches the limit, last parameters first") {
  CHECK(buckets({10, 20, 7, 3}, true) == std::vector<int64_t>{3, 27, 10});
  CHECK(buckets({40, 40}, true) == std::vector<int64_t>{40, 40});
  CHECK(buckets({40, 40}, false).empty());
}

// Buckets that PyTorch itself makes (tests/oracles/ddp_buckets.py), compared as sorted sizes: the
// order of the last, unfilled ones of several types is that of a hash table there.
TEST_CASE("gradient buckets: PyTorch's own") {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/tests/golden/ddp/buckets.json");
  const auto golden = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(golden["models"].size() == 6);
  for (const auto& model : golden["models"]) {
    CAPTURE(model["model"].get<std::string>());
    const Recipe recipe;
    Policy policy;
    policy.gradient_bucket_bytes = model["cap"];
    policy.first_gradient_bucket_bytes = golden["first_bytes"];
    const Binding none;
    Decider decider(none);
    Machine m(recipe, policy, decider);
    const auto& sizes = model["parameters"];
    const auto& half = model["half"];
    for (size_t i = sizes.size(); i-- > 0;) {
      const bool is_half = !half.empty() && half[i] == 1;
      m.parameter(is_half ? DType::kFloat16 : DType::kFloat32, {Dim(sizes[i].get<int64_t>())});
    }
    make_gradient_buckets(m);
    std::vector<int64_t> got, wanted = model["buckets"].get<std::vector<int64_t>>();
    for (const Buffer& buffer : m.finish().buffers) {
      if (buffer.role == Role::kTemporary) got.push_back(buffer.bytes.constant_term());
    }
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    CHECK(got == wanted);
  }
}

TEST_CASE("buffers of one type are joined for a moment before forward") {
  Recipe recipe;
  Policy policy;
  policy.gradient_bucket_bytes = 25 * kMiB;
  const Binding none;
  Decider decider(none);
  Machine m(recipe, policy, decider);
  const Value statistics[] = {m.resident(DType::kFloat32, {Dim(64)}, Role::kBuffer),
                              m.resident(DType::kFloat32, {Dim(32)}, Role::kBuffer)};
  broadcast_buffers(m, statistics);
  const Step step = m.finish();
  REQUIRE(step.buffers.size() == 3);
  CHECK(step.buffers[2].bytes == Dim(96 * 4));
  CHECK(step.events.back().kind == Event::Kind::kFree);
}

}  // namespace plimsoll::eager
