#include "graph/eager/attention_form.h"

#include <cmath>

namespace plimsoll::eager {
namespace {

// The widest heads that flash takes (check_head_dim_size_flash), and that its backward pass takes
// on cards of little shared memory, with dropout or without
// (check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120).
constexpr int64_t kFlashHead = 256, kSmallFlashHead = 192, kSmallFlashGap = 224;
// cuDNN's heads are multiples of 8 and this wide (check_cudnn_tensor_shapes,
// check_cudnn_d256_bprop_head_dim); those of multi-head latent attention are a pair of their own.
constexpr int64_t kLibraryAlignment = 8, kLibraryHead = 128, kLibraryWideHead = 256;
constexpr int64_t kLatentHead = 192;
constexpr double kLibraryDropoutSteps = 16;  // check_cudnn_dropout

class Choice {
 public:
  Choice(Machine& m, const AttentionOperands& o, const AttentionOptions& options)
      : m_(m), kernels_(m.policy().attention), o_(o), options_(options) {
    const Value inputs[] = {o.q, o.k, o.v};
    trained_ = m.tracks(inputs);
  }

  std::optional<AttentionForm> form() {
    const bool any = kernels_.library || kernels_.flash || kernels_.memory_efficient;
    if (!any || o_.q.rank() != 4 || !rows_lie_in_memory() || !one_batch()) return std::nullopt;
    if (kernels_.library && is_half() && library_takes()) return AttentionForm::kLibrary;
    if (kernels_.flash && is_half() && flash_takes()) return AttentionForm::kFlash;
    if (kernels_.memory_efficient && memory_efficient_takes())
      return AttentionForm::kMemoryEfficient;
    return std::nullopt;
  }

 private:
  bool is_half() const { return bits(o_.q.dtype()) == 16; }
  const Dim& head() const { return o_.q.sizes()[3]; }
  const Dim& value_head() const { return o_.v.sizes()[3]; }
  bool equal(const Dim& a, const Dim& b) { return m_.decider().equal(a, b); }
  bool is_multiple(const Dim& size, int64_t of) {
    return of == 1 || equal(ceil_div(size, Dim(of)) * Dim(of), size);
  }
  bool heads_at_most(int64_t size) {
    return m_.decider().at_most(head(), size) && m_.decider().at_most(value_head(), size);
  }
  bool heads_are(int64_t keys, int64_t values) {
    return equal(head(), keys) && equal(value_head(), values);
  }

  // check_last_dim_stride_equals_1_dense; a single element lies anyhow.
  bool rows_lie_in_memory() const {
    for (const Value* x : {&o_.q, &o_.k, &o_.v}) {
      if (x->rank() != 4 || (x->sizes()[3] != Dim(1) && x->strides()[3] != Dim(1))) return false;
    }
    return true;
  }
  bool one_batch() {
    return equal(o_.q.sizes()[0], o_.k.sizes()[0]) && equal(o_.q.sizes()[0], o_.v.sizes()[0]);
  }

  bool library_takes() {
    if (o_.mask.defined() && o_.mask.requires_grad()) return false;
    const double steps = options_.dropout * kLibraryDropoutSteps;
    if (steps != std::floor(steps)) return false;
    if (!is_multiple(head(), kLibraryAlignment) || !is_multiple(value_head(), kLibraryAlignment))
      return false;
    if (equal(o_.k.sizes()[2], 1)) return false;
    if (options_.dropout > 0 && equal(o_.q.sizes()[2], 1)) return false;
    if (heads_at_most(kLibraryHead) || heads_are(kLatentHead, kLibraryHead)) return true;
    if (!kernels_.library_wide) return false;
    return trained_ ? heads_are(kLibraryWideHead, kLibraryWideHead)
                    : heads_at_most(kLibraryWideHead);
  }

  bool flash_takes() {
    if (o_.mask.defined() || !equal(head(), value_head())) return false;
    if (!m_.decider().at_most(head(), kFlashHead)) return false;
    if (options_.causal && !equal(o_.q.sizes()[2], o_.k.sizes()[2])) return false;
    if (kernels_.flash_wide_backward || !trained_) return true;
    if (m_.decider().at_most(head(), kSmallFlashHead)) return true;
    return options_.dropout <= 0 && !m_.decider().at_most(head(), kSmallFlashGap);
  }

  // check_head_dim_size_mem_efficient, and the types that can_use_mem_efficient_attention lists.
  bool memory_efficient_takes() {
    if (o_.q.dtype() == DType::kBFloat16 && !kernels_.memory_efficient_bf16) return false;
    if (!is_half() && o_.q.dtype() != DType::kFloat32) return false;
    const int64_t alignment = is_half() ? kernels_.half_alignment : kernels_.alignment;
    return is_multiple(head(), alignment) && is_multiple(value_head(), alignment);
  }

  Machine& m_;
  const AttentionKernels& kernels_;
  const AttentionOperands& o_;
  const AttentionOptions& options_;
  bool trained_ = false;
};

}  // namespace

std::optional<AttentionForm> attention_form(Machine& m, const AttentionOperands& o,
                                            const AttentionOptions& options) {
  return Choice(m, o, options).form();
}

}  // namespace plimsoll::eager
