#include "estimator/library/workspace/kernel_scratch.h"

#include <doctest/doctest.h>

#include "estimator/library/workspace/reduction.h"

namespace plimsoll {
namespace {

Device scratch_card(int64_t sms) {
  Device device;
  device.sms = sms;
  device.compute_capability = {8, 0};
  return device;
}

KernelAt rows_kernel(const char* op, Pass pass, int64_t rows, int64_t columns, int64_t read,
                     int64_t written) {
  return {.pass = pass,
          .op = op,
          .read = read,
          .written = written,
          .problem = RowsProblem<int64_t>{rows, columns}};
}

}  // namespace

TEST_CASE("the gradient of an embedding: partial sums in 32 bits, as many as there can be") {
  // GPT-2's, 16 samples of 512 tokens; 131,072 tokens of a vocabulary of 128,000, features 4096.
  CHECK(embedding_backward_scratch(8192, 8192, 768, false) == 28081560);
  CHECK(embedding_backward_scratch(131072, 128000, 4096, false) == 2318219672);
  // Few features: the sort takes more.
  CHECK(embedding_backward_scratch(65536, 2, 8, false) == 40 * 65536);
  // Few indices are added one by one, but not those of bags.
  CHECK(embedding_backward_scratch(3072, 3072, 768, false) == 0);
  CHECK(embedding_backward_scratch(3072, 3072, 768, true) == 10530200);
  CHECK(embedding_backward_scratch(53248, 1000, 16, true) == 40 * 53248);
  CHECK(embedding_backward_scratch(1, 1, 4, true) == 64);
}

TEST_CASE("indices that are put are sorted first") {
  CHECK(index_put_scratch(0) == 0);
  CHECK(index_put_scratch(20736) == 48 * 20736);  // Swin's windows of 12 x 12
  CHECK(index_put_scratch(524288) == 25165824);   // 65,536 tokens to 8 experts each
}

TEST_CASE("a sort of up to 4096 is in place, longer ones take pairs") {
  CHECK(sort_scratch(1, 4096, 4) == 0);
  CHECK(sort_scratch(1, 1048576, 4) == 20971520);
  CHECK(sort_scratch(16, 8192, 4) == 4194304);
  CHECK(sort_scratch(256, 8192, 2) == 37748736);
  CHECK(sort_scratch(2, 1000000, 4) == 20000000);  // one row after the other
}

TEST_CASE("a norm of many short rows adds partial sums of its weights' gradients") {
  const Device a100 = scratch_card(108), h100 = scratch_card(132);
  // Swin-T's first stage at batch 256: 10,922 parts of 96.
  CHECK(norm_backward_scratch(802816, 96, 4, 2, a100) ==
        8388096 + reduction_workspace(10922, 96, a100));
  CHECK(norm_backward_scratch(200704, 192, 4, 2, h100) ==
        8388096 + reduction_workspace(5461, 192, h100));
  CHECK(norm_backward_scratch(65536, 96, 4, 2, a100) == 0);
  CHECK(norm_backward_scratch(100000, 2048, 4, 2, a100) == 0);  // wide rows
  // An RMS norm's one weight, in 16 bits: of 65,537 rows 2049 parts.
  CHECK(norm_backward_scratch(65537, 128, 2, 1, a100) ==
        2049 * 128 * 2 + reduction_workspace(2049, 128, a100));
  // Queries and keys of a head are normed alone: rows narrower than a tile have parts too.
  CHECK(norm_backward_scratch(131072, 16, 4, 1, a100) ==
        4096 * 16 * 4 + reduction_workspace(4096, 16, a100));
}

TEST_CASE("a deformable convolution has columns of as many samples as divide the batch") {
  constexpr int64_t kOne = 256 * 9 * 64 * 64 * 4;
  CHECK(deform_conv_columns(16, kOne) == 603979776);
  CHECK(deform_conv_columns(64, kOne) == 32 * kOne);
  CHECK(deform_conv_columns(37, kOne) == kOne);
}

TEST_CASE("unique elements are sorted, with a range where their places are asked for") {
  CHECK(unique_scratch(1000, 8, false) == 16000);
  CHECK(unique_scratch(1000, 8, true) == 8000 + 16000 + 16000);
  CHECK(unique_scratch(1000, 4, true) == 4000 + 16000 + 12000);
}

TEST_CASE("norms of lists have a number for each chunk of the largest tensor") {
  CHECK(foreach_norm_scratch(300, 131072000) == 2400000);
  CHECK(foreach_norm_scratch(1, 1) == 4);
  CHECK(foreach_norm_scratch(2, 65537) == 16);
}

TEST_CASE("few long rows of a topk are shared by blocks, each of which counts digits") {
  const Device a100 = scratch_card(108);
  CHECK(topk_scratch(16, 19999, 4, a100) == 0);
  // 80 blocks of 4 elements a thread: 20,000 / 1024, rounded up.
  CHECK(topk_scratch(4, 20000, 4, a100) == 4 * 16 + 4 * 20 * 520);
  CHECK(topk_scratch(8192, 64, 2, a100) == 0);  // experts of a router
  // 131,072 points of 1024 others: 64 elements a thread at most, a block a row.
  CHECK(topk_scratch(131072, 1024, 4, a100) == 131072 * 16 + 131072 * 520);
}

TEST_CASE("boxes that suppress each other have a bit for each pair") {
  CHECK(nms_scratch(0) == 0);
  CHECK(nms_scratch(2000) == 2000 * 32 * 8);
  CHECK(nms_scratch(12000) == 18048000);
}

TEST_CASE("a recurrent layer of the library has its gates of all time steps") {
  RecurrentProblem<int64_t> lstm{
      .cell = Cell::kLstm, .input = 512, .hidden = 512, .batch = 16, .timesteps = 128, .layers = 2};
  CHECK(recurrent_scratch(lstm, 4) == 128 * 16 * 4 * 512 * 4);
  const KernelAt kernel{.op = "recurrent", .problem = lstm};
  CHECK(kernel_scratch(kernel, scratch_card(108)) == 16777216);
  lstm.directions = 2;
  lstm.cell = Cell::kGru;
  CHECK(recurrent_scratch(lstm, 2) == 128 * 16 * 2 * 3 * 512 * 2);
  lstm.unrolled = CellForm::kJoined;
  CHECK(recurrent_scratch(lstm, 2) == 0);
}

TEST_CASE("kernels take scratch by their rows") {
  const Device device = scratch_card(108);
  // 8192 tokens of 50,257: at most 8192 rows of 768 are written.
  const int64_t g = int64_t{8192} * 768 * 4;
  CHECK(kernel_scratch(rows_kernel("embedding", Pass::kBackward, 8192, 768, g, g), device) ==
        28081560);
  CHECK(kernel_scratch(rows_kernel("embedding", Pass::kForward, 8192, 768, g, g), device) == 0);
  CHECK(kernel_scratch(rows_kernel("index_put", Pass::kBackward, 4096, 8, 0, 0), device) ==
        48 * 4096);
  CHECK(kernel_scratch(rows_kernel("column_sum", Pass::kBackward, 1, 768, 8192 * 3072, 3072),
                       device) == reduction_workspace(8192, 768, device));
  // 8192 rows of 3072 numbers, of which each column is made one: 4 bytes a sum, 16 where a value
  // has its position or a variance is taken, an element where it is the largest.
  const auto columns = [&](const char* op, DType dtype) {
    KernelAt kernel = rows_kernel(op, Pass::kForward, 768, 8192, 8192 * 3072, 3072);
    kernel.dtype = dtype;
    return kernel_scratch(kernel, device);
  };
  const int64_t of_sums = reduction_workspace(8192, 768, device);
  CHECK(of_sums == 50331648);
  CHECK(columns("column_mean", DType::kFloat32) == of_sums);
  CHECK(columns("column_mean", DType::kBFloat16) == of_sums);
  CHECK(columns("column_reduce", DType::kFloat64) == 2 * of_sums);
  CHECK(columns("column_max", DType::kFloat16) == of_sums / 2);
  CHECK(columns("column_var", DType::kFloat32) == 4 * of_sums);
  CHECK(columns("column_max_position", DType::kFloat32) == 4 * of_sums);
  CHECK(columns("column_argmax", DType::kInt64) == 4 * of_sums);
  CHECK(columns("reduce", DType::kFloat32) == 0);  // along rows
  // Beyond 2 GiB sums of 16 bits are carried from part to part in 32.
  KernelAt long_sum = rows_kernel("column_sum", Pass::kForward, 768, int64_t{1} << 21,
                                  (int64_t{768} << 21) * 2, 768 * 2);
  long_sum.dtype = DType::kBFloat16;
  CHECK(kernel_scratch(long_sum, device) ==
        reduction_workspace(int64_t{1} << 21, 768, device) + 768 * 4);
  CHECK(kernel_scratch(rows_kernel("rms_norm", Pass::kBackward, 131072, 128, 0, 0), device) ==
        norm_backward_scratch(131072, 128, 4, 1, device));
  CHECK(kernel_scratch(rows_kernel("index_put_accumulate", Pass::kForward, 4096, 8, 0, 0),
                       device) == 48 * 4096);
  CHECK(kernel_scratch(rows_kernel("index_put", Pass::kForward, 4096, 8, 0, 0), device) == 0);
  CHECK(kernel_scratch(rows_kernel("unique_inverse", Pass::kForward, 1, 1000, 0, 0), device) ==
        32000);
  CHECK(kernel_scratch(rows_kernel("fft_c2r", Pass::kForward, 1, 1000, 4096, 4000), device) ==
        4096);
  // Forward: columns and the result twice; backward the result's gradient once.
  CHECK(kernel_scratch(rows_kernel("deform_conv", Pass::kForward, 4, 100, 0, 64), device) ==
        1600 + 128);
  CHECK(kernel_scratch(rows_kernel("deform_conv", Pass::kBackward, 4, 100, 64, 7), device) ==
        1600 + 64);
  // CTC's gradient: 16 samples of 100 frames, labels of 20 between blanks.
  CHECK(kernel_scratch(rows_kernel("ctc_loss", Pass::kBackward, 1600, 41, 0, 0), device) ==
        1600 * 41 * 4);
  CHECK(kernel_scratch(rows_kernel("ctc_loss", Pass::kForward, 1600, 41, 0, 0), device) == 0);
  CHECK(kernel_scratch(rows_kernel("nms", Pass::kForward, 64, 4, 0, 0), device) == 512);
  CHECK(kernel_scratch(rows_kernel("topk", Pass::kForward, 4, 20000, 0, 0), device) ==
        topk_scratch(4, 20000, 4, device));
  CHECK(kernel_scratch(rows_kernel("relu", Pass::kForward, 1, 8192, g, g), device) == 0);
}

}  // namespace plimsoll
