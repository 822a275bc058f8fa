#include "estimator/memory/process_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "estimator/request/platform.h"
#include "estimator/request/request.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Batch norm of plain features is PyTorch's own kernel: use_cudnn in _batch_norm_impl_index asks
// for three dimensions or more (aten/src/ATen/native/Normalization.cpp).
bool norm_by_cudnn(const Graph& graph, const Node& node) {
  if (!is_batch_norm(node) || node.inputs.empty()) return false;
  const auto& shape = graph.tensors[node.inputs[0]].shape;
  return !shape || shape->size() >= 3;
}

bool uses_cudnn(const Graph& graph, const BoundStep& bound) {
  return std::any_of(bound.kernels.begin(), bound.kernels.end(),
                     [](const KernelAt& k) {
                       return k.kernel_class == KernelClass::kConv ||
                              k.kernel_class == KernelClass::kRecurrent;
                     }) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return norm_by_cudnn(graph, node); });
}

// Where each group of a convolution has library handles of its own (Caffe).
int64_t handle_bytes(const ContextRow& row, const Graph& graph) {
  int64_t groups = 0;
  for (const Node& node : graph.nodes) {
    if (has(node, OpRow::kConvolutional))
      groups += std::max<int64_t>(1, node.attributes.integer("group", 1));
  }
  return row.per_convolution.value * std::min<int64_t>(groups, int64_t{1} << 20);
}

// What NCCL holds outside the allocator for a communicator: for each channel and each peer that
// sends, a buffer for each protocol (nccl/src/include/device.h: LL 512 KiB, LL128 4800 KiB, simple
// 4 MiB). Rings have one such peer, the chains within a machine two; NVIDIA/nccl#986: "linearly
// tied to the number of channels", "2 connections regardless of scale".
Context communicator(const Link& link) {
  constexpr int64_t kConnection = 524288 + 4915200 + 4194304;
  const int64_t ring = kConnection * link.channels;
  return {.bytes = 2 * ring, .low = ring, .high = 4 * ring};  // trees and others beside the ring
}

// Groups of ranks that the step's collectives name: process groups have a communicator each
// (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp), which share no buffers unless they are split
// with splitShare (nccl/src/include/nccl.h.in). Of those no two ranks of which are in one machine,
// false. Stages of a pipeline send to one neighbour and connect no rings.
std::vector<bool> groups_within(const CompiledModel& model, int64_t per_node) {
  std::set<std::pair<Axis, bool>> named;
  for (const Collective& one : model.step.collectives) {
    const bool sends = one.kind == CollectiveKind::kSendReceive && one.axis == Axis::kStage;
    if (!sends && !is_of_host(one.kind)) named.emplace(one.axis, one.joined);
  }
  std::vector<bool> within;
  for (const auto& [axis, joined] : named) {
    const Mesh& whole = model.recipe.parallel.mesh;
    const Mesh mesh = joined ? whole.joined(axis) : whole;
    if (mesh.extent(axis) > 1) within.push_back(mesh.stride(axis) < per_node);
  }
  return within;
}

// A program that names no group has one all the same, of all GPUs.
Context collective_buffers(const CompiledModel& model, const Platform& platform, bool takes_any) {
  const std::optional<Link>& link = platform.link ? platform.link : platform.network;
  const bool collective = link && platform.gpu_count > 1 && !platform.one_process() && takes_any;
  if (!collective) return {};
  std::vector<bool> groups = groups_within(model, platform.gpu_count / platform.nodes);
  if (groups.empty()) groups.push_back(true);
  Context sum;
  for (const bool within : groups) {
    const Context one = communicator(within || !platform.network ? *link : *platform.network);
    sum.bytes += one.bytes;
    sum.low += one.low;
    sum.high += one.high;
  }
  return sum;
}

// What a context took of this very card in place of the driver's part; 0 where no machine file
// tells it, or the row has that part in its modules.
int64_t measured_context(const ContextRow& row, const Platform& platform) {
  return platform.machine && row.per_thread.value > 0 ? platform.machine->context_bytes : 0;
}

}  // namespace

Context context_on_card(const CompiledModel& model, const BoundStep& bound,
                        const Platform& platform, const ProcessBehaviour& process,
                        const ProgramRequest& program) {
  if (const auto& given = program.context_bytes) return {*given, *given, *given};
  const ContextRow& row = process.context;
  const bool forward = model.recipe.mode == Mode::kInference;
  int64_t stacks = card_bytes(row, platform.device, !forward) + handle_bytes(row, model.graph);
  if (const int64_t measured = measured_context(row, platform); measured > 0)
    stacks += measured - driver_bytes(row, platform.device);
  const Bytes training = uses_cudnn(model.graph, bound) ? row.with_cudnn : row.plain;
  const int64_t bytes = stacks + (forward ? row.inference.value_or(training) : training).value;
  const Context buffers = collective_buffers(model, platform, process.collective_buffers);
  return {bytes + buffers.bytes, stacks + row.low.value + buffers.low,
          stacks + row.high.value + buffers.high};
}

std::string context_basis(const Platform& platform, const ProcessBehaviour& process) {
  const int64_t bytes = measured_context(process.context, platform);
  if (bytes == 0) return process.context_basis;
  return fmt::format("{}; of it, {} MiB of the driver were measured on this GPU",
                     process.context_basis, bytes >> 20);
}

}  // namespace plimsoll
