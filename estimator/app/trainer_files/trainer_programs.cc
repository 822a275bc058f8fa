#include "estimator/app/trainer_files/trainer_program.h"

namespace plimsoll {

std::span<const TrainerProgram> trainer_programs() {
  static const TrainerProgram kPrograms[] = {
      torchtune_program(), torchtitan_program(),    axolotl_program(),
      peft_program(),      llama_factory_program(), trl_program(),
      hf_program(),        deepspeed_program(),     accelerate_program()};
  return kPrograms;
}

}  // namespace plimsoll
