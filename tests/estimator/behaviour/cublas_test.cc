#include "estimator/behaviour/cublas.h"

#include <doctest/doctest.h>

#include "tests/support/requests.h"

namespace plimsoll {
namespace {

CublasWorkspace products_of(const char* framework, int major) {
  return cublas_workspace(*test::hwdb().framework(framework), {major, 0});
}

}  // namespace

TEST_CASE("products have 32 MiB from compute capability 9 on, and give them back since 2.15") {
  CHECK(products_of("pytorch-2.8", 8).bytes == 8519680);
  for (const int major : {9, 10, 12}) CHECK(products_of("pytorch-2.8", major).bytes == 32 << 20);
  CHECK(products_of("pytorch-2.8", 12).stays);
  CHECK(products_of("pytorch", 12).stays);  // no release is named
  CHECK_FALSE(products_of("pytorch-2.15", 8).stays);
  CHECK(products_of("pytorch-1.13", 9).bytes == 0);
}

}  // namespace plimsoll
