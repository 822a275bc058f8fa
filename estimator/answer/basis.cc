#include "estimator/answer/basis.h"

#include <fmt/format.h>

#include "estimator/answer/effects.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/library/workspace/asked.h"
#include "estimator/request/trainer.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

using Sentences = std::vector<std::string>;

void append(Sentences& basis, const Sentences& more) {
  basis.insert(basis.end(), more.begin(), more.end());
}

Sentences measured_basis(const Platform& platform, const WorkspacePlan& workspaces) {
  Sentences basis;
  const Device& device = platform.device;
  if (device.sustained_clock < device.boost_clock) {
    basis.push_back(fmt::format("time: the power limit lowers the clock to {:.0f} MHz, from {:.0f}",
                                device.sustained_clock.value / 1e6,
                                device.boost_clock.value / 1e6));
  }
  if (platform.asked) {
    basis.push_back(
        fmt::format("workspace: {} of {} convolutions {} cuDNN {}{}", workspaces.asked,
                    workspaces.convolutions, platform.asked->on_card() ? "as listed by" : "from",
                    platform.asked->cudnn(), platform.asked->on_card() ? " on this GPU" : ""));
  }
  if (workspaces.free_bytes) {
    basis.push_back(
        fmt::format("workspace: memory is nearly full, so convolutions use slower algorithms with "
                    "at most {:.1f} MB of workspace",
                    static_cast<double>(*workspaces.free_bytes) / 1e6));
  }
  if (platform.machine && platform.machine->clock > 0) {
    basis.push_back(fmt::format("this GPU ran at {:.0f} MHz when its kernels were measured",
                                platform.machine->clock / 1e6));
  }
  return basis;
}

Sentences memory_basis(const MemoryEstimate& memory) {
  Sentences basis;
  if (!memory.context_basis.empty()) basis.push_back("context: " + memory.context_basis);
  if (memory.timing_peak_bytes > memory.reserved_bytes) {
    basis.push_back(
        fmt::format("the first step also uses {:.1f} MB while cuDNN's plans are timed, or less if "
                    "the GPU is full; it is freed afterwards",
                    static_cast<double>(memory.timing_peak_bytes) / 1e6));
  }
  return basis;
}

Sentences evaluation_basis(const MemoryEstimate& memory, const Recipe& recipe) {
  if (!memory.evaluation) return {};
  const int64_t gathered = recipe.evaluation.gathered;
  return {fmt::format(
      "evaluation: forward passes and the loss in batches of {} between steps, without gradients "
      "or dropout, in the memory that the steps have reserved; {}",
      memory.evaluation->batch,
      gathered == 0 ? "only the loss is kept"
                    : fmt::format("the outputs of {} batches are gathered on the GPU", gathered))};
}

Sentences loading_basis(const MemoryEstimate& memory) {
  if (!memory.loading) return {};
  return {fmt::format(
      "loading ({}): up to {:.2f} GB of tensors before the first step; the allocator has then "
      "reserved {:.2f} GB, which the steps use",
      memory.loading->how, static_cast<double>(memory.loading->allocated_peak_bytes) / 1e9,
      static_cast<double>(memory.loading->reserved_bytes) / 1e9)};
}

// Whose processes the range of memory is of, where it is of more than steps.
Sentences program_basis(const TrainerRow* trainer, const Recipe& recipe) {
  const MemorySpread* spread = memory_spread(trainer, recipe);
  if (!spread) return {};
  return {fmt::format("memory range: {} take {:.0f} % less to {:.0f} % more than their steps ({})",
                      trainer ? fmt::format("runs of {}", trainer->program)
                              : "programs that " + setting("trainer") + " may name",
                      100 * spread->less, 100 * spread->more, spread->source)};
}

// Any loss can stand in a program where a file has none.
Sentences loss_basis(const Recipe& recipe) {
  if (recipe.mode == Mode::kInference || recipe.loss != Loss::kSum) return {};
  return {
      "loss: the sum of the outputs replaces the program's loss. The memory and time of the "
      "latter, such as a detector's matching of boxes to anchors, are not included"};
}

}  // namespace

std::vector<std::string> basis_of(const AnswerParts& parts, const Estimate& answer) {
  const auto& [request, platform, model, usual, largest, bound, workspaces, prices] = parts;
  Sentences basis = {settings_text(model, platform, request.layout, answer.input.batch)};
  if (!request.defaults.empty()) basis.push_back("defaults: " + request.defaults);
  append(basis, card_basis(platform.device, request, answer));
  append(basis, model.basis);
  append(basis, loss_basis(model.recipe));
  append(basis, compiler_basis(model, usual));
  if (request.cuda_graphs) append(basis, replay_basis(model));
  append(basis, answer.time.basis);
  append(basis, measured_basis(platform, workspaces));
  append(basis, memory_basis(answer.memory));
  append(basis, evaluation_basis(answer.memory, model.recipe));
  append(basis, loading_basis(answer.memory));
  append(basis, program_basis(request.trainer, model.recipe));
  if (largest != usual) basis.push_back(largest_batch_note(largest, usual));
  if (answer.memory.held_by_names > 0) {
    basis.push_back(
        fmt::format("the range includes one tensor of {:.1f} MB more or less: the file does not "
                    "say how long Python variables keep tensors",
                    static_cast<double>(answer.memory.held_by_names) / 1e6));
  }
  return basis;
}

Diagnostics diagnostics_of(const AnswerParts& parts, const Estimate& answer) {
  Diagnostics said = warnings_of(parts.request, parts.platform, parts.model);
  for (Diagnostic& d : other_algorithms(parts.request.conv_algorithm, parts.bound, parts.prices))
    said.push_back(std::move(d));
  if (answer.time.launches == 0) {
    said.push_back(warning("W236", "nothing runs on the GPU: no output depends on an input", {},
                           "export the network with outputs that depend on its inputs"));
  }
  if (const auto more = static_cast<double>(answer.memory.more_by_names); more > 0) {
    said.push_back(warning(
        "W237",
        fmt::format("Python variables may keep {:.1f} MB more until a module of the forward pass "
                    "returns, which TorchScript does not say: the range includes both",
                    more / 1e6),
        {}, "from_torch() in Python reads the module itself, which decides this"));
  }
  if (answer.memory.host_bytes == 0) {
    said.push_back(
        note("N519", fmt::format("the host memory of {} is not predicted: it was never measured",
                                 parts.platform.framework.id)));
  }
  return said;
}

}  // namespace plimsoll
