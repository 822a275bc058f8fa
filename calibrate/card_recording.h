// card_recording: a Card's calls in a file, as card_wire.h has them, and a card that answers from
// one.
//
//   auto card = RecordedCard::open("h100.jsonl");
//   card->time(kernel, 0);
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "calibrate/card.h"
#include "graph/base/json_lines_file.h"

namespace plimsoll::calibrate {

// Appends every call and its answer to a file, and passes it on.
class RecordingCard : public Card {
 public:
  // E612 where the file cannot be written, E706 where another process does.
  static Result<std::unique_ptr<Card>> make(std::unique_ptr<Card> card, const std::string& path);

  const CardFacts& facts() const override { return card_->facts(); }
  Result<std::vector<Offer>> offers(const KernelAt& kernel) override;
  Result<std::vector<Sample>> time(const KernelAt& kernel, size_t offer) override;
  Result<std::vector<Figure>> figures() override;

 private:
  RecordingCard(std::unique_ptr<Card> card, JsonLinesFile file)
      : card_(std::move(card)), file_(std::move(file)) {}
  template <class T>
  Result<T> kept(const std::string& line, Result<T>&& answer);

  std::unique_ptr<Card> card_;
  JsonLinesFile file_;
};

// Each question has the answers that were recorded to it, in their order; the last goes on. E723
// for a question that was not asked.
class RecordedCard : public Card {
 public:
  // The first line has the facts. E601 to E606 as ByteSource, E30x for lines that are not of the
  // form, E501 for a file without any.
  static Result<std::unique_ptr<Card>> open(const std::string& path);

  const CardFacts& facts() const override { return facts_; }
  Result<std::vector<Offer>> offers(const KernelAt& kernel) override;
  Result<std::vector<Sample>> time(const KernelAt& kernel, size_t offer) override;
  Result<std::vector<Figure>> figures() override;

 private:
  template <class T>
  using Answers = std::map<std::string, std::deque<Result<T>>, std::less<>>;
  Result<void> read_line(std::string_view text, const std::string& place);
  template <class T>
  static Result<T> next(Answers<T>& answers, const std::string& key);

  CardFacts facts_;
  Answers<std::vector<Offer>> offers_;
  Answers<std::vector<Sample>> samples_;
  Answers<std::vector<Figure>> figures_;
};

}  // namespace plimsoll::calibrate
