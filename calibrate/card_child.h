// CardChild: a card in a process of its own, which answers in the form of recordings. A library
// that crashes, or a kernel after which the context is lost, costs that kernel alone: the next has
// a new process.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "calibrate/card.h"
#include "calibrate/line_child.h"
#include "graph/json/object.h"

namespace plimsoll::calibrate {

class CardChild : public Card {
 public:
  using Open = std::function<Result<std::unique_ptr<Card>>()>;
  // `open` is called in the child. Its errors, and E707 where no process can be made or it crashes.
  static Result<std::unique_ptr<Card>> start(Open open);

  const CardFacts& facts() const override { return facts_; }
  Result<std::vector<Offer>> offers(const KernelAt& kernel) override;
  Result<std::vector<Sample>> time(const KernelAt& kernel, size_t offer) override;
  Result<std::vector<Figure>> figures() override;

 private:
  explicit CardChild(Open open) : open_(std::move(open)) {}
  Result<void> begin();
  template <class T>
  Result<T> ask(const std::string& question, Result<T> (*read)(JsonObject& line));

  Open open_;
  std::optional<LineChild> child_;
  CardFacts facts_;
};

}  // namespace plimsoll::calibrate
