#include "graph/config/expression.h"

#include <doctest/doctest.h>

namespace plimsoll::config {
namespace {

struct Scene {
  Scene() {
    environment.define("hidden", Dim::symbol("hidden"));
    environment.define("heads", Dim::symbol("heads"));
    environment.define("batch", Dim::symbol("batch"));
    environment.define("layers", Dim(3));
    environment.define("rate", 0.5);
    environment.define("widths", std::vector<Dim>{64, 128, 256});
  }
  Result<Dim> operator()(std::string_view text) { return evaluate(text, environment, binder); }
  std::string code(std::string_view text) {
    const auto result = (*this)(text);
    return result ? "fine: " + result->text() : result.error().front().code;
  }
  Environment environment;
  Binder binder{{{"hidden", 512}, {"heads", 8}, {"batch", 32}}, {"batch"}};
};

}  // namespace

TEST_CASE("expressions compute with symbols") {
  Scene at;
  const Dim hidden = Dim::symbol("hidden");
  CHECK(*at("4*hidden") == Dim(4) * hidden);
  CHECK(*at(" 2 * (hidden + 3) - 1 ") == Dim(2) * hidden + Dim(5));
  CHECK(*at("hidden*heads/heads") == hidden);
  CHECK(*at("--7") == Dim(7));
  CHECK(*at("1 - 2 - 3") == Dim(-4));
  CHECK(*at("7 // 2 + 7 % 4") == Dim(6));
  CHECK(*at("widths[layers - 1] + count(widths)") == Dim(259));
  CHECK(*at("min(7, 3) + max(2, 5) + ceil_div(7, 2)") == Dim(12));
  CHECK(*at("equal(layers, 3) + less(2, layers) + less(3, layers)") == Dim(2));
  CHECK(*at("element(widths, 1, 7) + element(widths, layers, 7)") == Dim(135));
  CHECK(*at("sqrt(17) + contains(widths, 64 * 2) + contains(widths, 5)") == Dim(5));
  CHECK(*at("power(2, 3) + power(layers, 0) + power(hidden, 2)") == Dim(9) + hidden * hidden);
  CHECK(at.binder.used().empty());
}

TEST_CASE("a division that needs numbers binds its parameters") {
  Scene at;
  CHECK(*at("hidden/heads") == Dim(64));
  CHECK(at.binder.used() == std::set<std::string>{"heads", "hidden"});
  CHECK(at.code("hidden/3") == "E345");
  CHECK(at.code("batch/heads") == "E346");
}

TEST_CASE("what is no expression is refused") {
  Scene at;
  CHECK(at.code("") == "E344");
  CHECK(at.code("4*") == "E344");
  CHECK(at.code("4 5") == "E344");
  CHECK(at.code("(4") == "E344");
  CHECK(at.code("min(4)") == "E344");
  CHECK(at.code("sin(4)") == "E344");
  CHECK(at.code("sqrt(0 - 1)") == "E345");
  CHECK(at.code("power(2, 0 - 1)") == "E345");
  CHECK(at.code("power(2, 63)") == "E345");
  CHECK(at.code("contains(layers, 1)") == "E344");
  CHECK(at.code("contains(widths)") == "E344");
  CHECK(at.code("element(layers, 0, 1)") == "E344");
  CHECK(at.code("element(widths, 0)") == "E344");
  CHECK(at.code("less(batch, 4)") == "E346");
  CHECK(at.code("rate*2") == "E344");
  CHECK(at.code("widths") == "E344");
  CHECK(at.code("layers[0]") == "E344");
  CHECK(at.code("${HOME}") == "E344");
  CHECK(at.code("1.5") == "E344");
  CHECK(at.code(std::string_view("4\0*5", 4)) == "E344");
  CHECK(at.code("99999999999999999999") == "E344");
  CHECK(at.code("9223372036854775807*2") == "E232");
  CHECK(at.code("4/0") == "E345");
  CHECK(at.code("4//0") == "E345");
  CHECK(at.code("ceil_div(4, 0)") == "E345");
  CHECK(at.code("widths[3]") == "E345");
  CHECK(at.code("widths[-1]") == "E345");
  CHECK(at.code(std::string(33, '(') + "1" + std::string(33, ')')) == "E344");
  CHECK(at.code(std::string(2000, '1')) == "E344");
  const auto unknown = at("4*hiden");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().front().code == "E343");
  CHECK(unknown.error().front().help == "did you mean 'hidden'?");
}

}  // namespace plimsoll::config
