#include "hwdb/measured/kernel.h"

#include <doctest/doctest.h>

#include "calibrate/measured.h"
#include "graph/base/byte_source.h"
#include "hwdb/measured/reader.h"

namespace plimsoll {
namespace {

KernelAt of_record(const std::string& record) {
  const std::string text =
      R"({"kind": "kernel", "records": [{"device": "x", "time_ms": 1, )" + record + "}]}";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const ByteSource source = ByteSource::of("runs.json", {bytes, bytes + text.size()});
  std::optional<KernelAt> kernel;
  const auto file = read_measured(source, [&](MeasuredRun&& run) {
    const auto made = kernel_of(run);
    REQUIRE(made);
    kernel = *made;
  });
  REQUIRE(file);
  REQUIRE(kernel);
  return *kernel;
}

KernelAt of_row(const char* kernel_class, const std::string& head, const std::string& row) {
  const auto kernels = read_measured(head + "\n" + row + "\n", "t.csv", kernel_class);
  REQUIRE(kernels);
  return kernels->front().kernel;
}

// What a fit learns from is what is validated.
TEST_CASE("a record and the line of a transcription are one kernel") {
  CHECK(of_record(R"("op": "gemm", "variant": "linear", "dtype": "tf32", "batch_count": 2, "m": 3,
                     "n": 4, "k": 5, "b_t": true, "accumulate": true)") ==
        of_row("gemm",
               "source,device,cublas,arithmetic,batch,m,n,k,a_t,b_t,accumulate,host_bound,time_ms",
               "s,x,1300,tf32_tensor,2,3,4,5,0,1,1,0,1"));
  CHECK(of_record(R"("op": "conv", "dtype": "fp16_mixed_tensor_core", "pass": "backward_weights",
                     "n": 2, "c": 8, "h": 9, "w": 7, "k": 6, "r": 3, "s": 3, "pad_h": 1,
                     "pad_w": 1, "stride_h": 2, "stride_w": 1, "groups": 2, "layout": "nhwc")") ==
        of_row("conv",
               "source,device,cudnn,arithmetic,pass,n,c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,"
               "groups,layout,algorithm,host_bound,time_ms",
               "s,x,919,f16_tensor,backward_weights,2,8,9,7,6,3,3,1,1,2,1,2,nhwc,,0,1"));
  CHECK(of_record(R"("op": "rnn", "cell": "lstm", "hidden": 8, "batch": 2, "timesteps": 3,
                     "input_mode": "skip", "pass": "backward_data")") ==
        of_row("recurrent",
               "source,device,cudnn,arithmetic,algorithm,pass,cell,hidden,batch,timesteps,time_ms",
               "s,x,919,f32,standard,backward_data,lstm,8,2,3,1"));
  CHECK(of_record(R"("op": "elementwise", "function": "add", "rows": 5, "cols": 7,
                     "tensors_moved": 3)") ==
        of_row("rows",
               "source,device,cudnn,arithmetic,op,pass,rows,columns,tensors,host_bound,time_ms",
               "s,x,809,f32,add,forward,5,7,3,0,1"));
}

// cuBLAS is told C = A B column-major: row-major that is the product of the transposes.
TEST_CASE("products are told column-major, PyTorch's row-major") {
  const KernelAt product =
      of_record(R"("op": "gemm", "m": 3, "n": 4, "k": 5, "a_t": true, "accumulate": true)");
  const auto& p = std::get<GemmProblem<int64_t>>(product.problem);
  CHECK(p.m == 4);
  CHECK(p.n == 3);
  CHECK(p.b_t);
  CHECK_FALSE(p.a_t);
  CHECK(product.read == 4 * (4 * 5 + 5 * 3 + 4 * 3));
  CHECK(of_record(R"("op": "gemm", "m": 3, "n": 4, "k": 5)").read == 4 * (4 * 5 + 5 * 3));
}

}  // namespace
}  // namespace plimsoll
