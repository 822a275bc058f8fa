// Programs that train models, and what they do where their users say nothing, as far as settings
// stand for it: not losses in chunks, nor activations kept by operator.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/ir/recipe.h"

namespace plimsoll {

struct TrainerDefault {
  std::string_view setting, text;
};

// How far a program's process is from what its steps are predicted to take, as shares of that: the
// 95 % range of measured runs.
struct MemorySpread {
  double less = 0, more = 0;
  std::string_view source;
};

struct TrainerRow {
  std::string_view name;     // "hf"
  std::string_view program;  // "Hugging Face's Trainer"
  std::span<const TrainerDefault> defaults;
  std::string_view source;
  const MemorySpread& spread;
  // A row of its earlier releases, which ran on versions of PyTorch before this one; empty: it is
  // of the others.
  std::string_view before_pytorch{};
};

std::span<const TrainerRow> trainers();
// Null where no row has the name.
const TrainerRow* find_trainer(std::string_view name);
// ... and of a training by nobody's: null where a model is whole on each GPU and all of it is
// trained, which is a loop of steps. Adapters and shares of a model are trained by programs.
const MemorySpread* memory_spread(const TrainerRow* trainer, const Recipe& recipe);
// What to say of a word that names no program of the table but a way of sharing a model, or a
// program that leaves all to others; empty where nothing is known of it.
std::string help_for_trainer(std::string_view name);
// As records of measured runs name it after its framework, with what it ran with or which it was:
// "pytorch / nanotron", "pytorch / torchtitan + torchao"; with the version of PyTorch, empty where
// it is not known. Null likewise.
const TrainerRow* trainer_of(std::string_view framework, std::string_view version = {});

}  // namespace plimsoll
