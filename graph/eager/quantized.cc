// Products with frozen weights that are stored in few bits.
#include <utility>
#include <vector>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// The weight in a type that products take, for one of them; by way of the type that was quantized.
Value widened(Machine& m, const Value& weight, DType type) {
  const bool halves = m.recipe().finetune.quantizer == Quantizer::kFabric;
  Value wide = m.allocate(halves ? DType::kFloat16 : type, weight.sizes());
  m.launch_rows(KernelClass::kCopy, "dequantize", wide.count() * Dim(2), {&weight}, {&wide});
  return cast(m, wide, type);
}

class WithoutGradients {
 public:
  explicit WithoutGradients(Machine& m) : m_(m), before_(m.grad_enabled()) {
    m_.set_grad_enabled(false);
  }
  ~WithoutGradients() { m_.set_grad_enabled(before_); }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

 private:
  Machine& m_;
  bool before_;
};

}  // namespace

Value quantized_linear(Machine& m, const Value& given, const Value& weight, const Value& bias,
                       DType compute) {
  const DType given_type = given.dtype();
  const DType type = m.autocast().value_or(compute);
  const Value x = cast(m, given, type);
  const Value added = bias.defined() ? cast(m, bias, type) : bias;
  Value y = [&] {
    const WithoutGradients off(m);
    return linear(m, x.detached(), widened(m, weight, type), added);
  }();
  const Value inputs[] = {x};
  std::vector<Kept> kept = {{weight, "a product with a quantized weight keeps the weight"}};
  if (m.recipe().finetune.keeps_inputs)
    kept.push_back({.value = x,
                    .rule = "bitsandbytes keeps the input, though no gradient reads it",
                    .with_node = true});
  m.record(y, inputs, std::move(kept), [type](Machine& mm, const Gradients& g, const GradNode& n) {
    return Gradients{matmul(mm, g[0], widened(mm, n.saved(0), type))};
  });
  // bitsandbytes, nn/modules.py, Linear4bit.forward(): in the type of its input, under autocast
  // too.
  return cast(m, y, given_type);
}

}  // namespace plimsoll::eager
