// In place of the rest of this folder where the headers of CUDA's libraries were not found at
// configure time.
#include "calibrate/cuda_card.h"

namespace plimsoll::calibrate {

Result<std::unique_ptr<Card>> open_cuda_card(const CudaCardOptions&) {
  return error("E705", "this plimsoll-calibrate was built without the headers of CUDA's libraries",
               {}, "'./dev calibrate run ...' fetches them and builds it again");
}

}  // namespace plimsoll::calibrate
