// What an answer says of the machine it is for, beside its numbers.
#pragma once

#include <string>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "estimator/time/kernel_price.h"

namespace plimsoll {

// What the files of card, framework and machine warned of; W402 for a rate that the precision asks
// for and the card lacks.
Diagnostics platform_warnings(const Platform& platform, const PrecisionRow& precision);

// Where the card's figures are from, if not from the database alone, that its memory is the
// machine's, and what a display takes of it: as given, or, where none is and it would matter, that
// none is counted.
std::vector<std::string> card_basis(const Device& device, const PlatformRequest& request,
                                    const Estimate& answer);

// "on each of 8 GPUs over nvlink-2, in 2 machines over ethernet-10g, exchange ring".
std::string devices_text(const Platform& platform);

// "train, momentum, loss cross_entropy, fp32, batch 32, 1 GPU, pytorch-2 (pytorch), cuDNN 9.10".
std::string settings_text(const CompiledModel& model, const Platform& platform, Layout layout,
                          int64_t batch);

// "memory at target 100, the longest that batches get; time and layers at target 29".
std::string largest_batch_note(Binding at, Binding usual);

// Passes of convolutions that run by another algorithm than --conv-algo names: N526, with what was
// taken instead; nothing where it names none.
Diagnostics other_algorithms(const std::optional<AskedAlgorithm>& asked, const BoundStep& bound,
                             const std::vector<KernelPrice>& prices);

// What a compiler made of the step's launches, and what of it is eager's; nothing where none did.
std::vector<std::string> compiler_basis(const CompiledModel& model, const Binding& binding);

// What a step is taken to be whose passes are replayed as CUDA graphs.
std::vector<std::string> replay_basis(const CompiledModel& model);

}  // namespace plimsoll
