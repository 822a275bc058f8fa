// In place of the rest of this folder where cuDNN's headers were not found at configure time.
#include "calibrate/cudnn.h"

namespace plimsoll {

struct Cudnn::Impl {};
Cudnn::Cudnn(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cudnn::Cudnn(Cudnn&&) noexcept = default;
Cudnn::~Cudnn() = default;

Result<Cudnn> Cudnn::open(const Device&) {
  return error("E705", "this plimsoll-calibrate was built without cuDNN's headers", {},
               "'./dev calibrate ask ...' fetches them and builds it again");
}

// No object exists.
const std::string& Cudnn::version() const { std::abort(); }
const std::vector<LoadedLibrary>& Cudnn::libraries() const { std::abort(); }
Cudnn::Listed Cudnn::ask(const ConvQuestion&) const { std::abort(); }
Cudnn::Listed Cudnn::ask_norm(const KernelAt&) const { std::abort(); }
Cudnn::Listed Cudnn::ask(const AttentionProblem<int64_t>&, Pass, DType) const { std::abort(); }

}  // namespace plimsoll
