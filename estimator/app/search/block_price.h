// BlockPrice: what one block of a network needs for one micro-batch, as the ordinary estimate of a
// pipeline's stage that has this block alone says it. Plans that share a block's settings share it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/search/cluster_plan.h"
#include "estimator/model/model_cache.h"
#include "graph/base/diagnostic.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct BlockPrice {
  // Of its weights, on a rank that shares them with nobody; bytes.
  int64_t weights = 0, gradients = 0, states = 0;
  int64_t experts = 0;  // of the weights, where ranks share them
  int64_t saved = 0;    // for the backward pass of a micro-batch
  int64_t in_pass = 0;  // temporaries of forward and backward, at most
  int64_t in_update = 0;
  double pass = 0;      // seconds of a micro-batch, forward and back, exchange of parts included
  double backward = 0;  // ... of which it goes back
  double update = 0;

  double experts_share() const {
    return weights > 0 ? static_cast<double>(experts) / static_cast<double>(weights) : 0;
  }
  BlockPrice& operator+=(const BlockPrice& other);
  BlockPrice operator*(int64_t blocks) const;
  BlockPrice operator-(const BlockPrice& other) const;
};

// Of blocks in a row: the first with what stands before all blocks, the last with what stands
// after them.
struct NetworkPrice {
  int64_t blocks = 1;
  BlockPrice first{}, middle{}, last{};
  // What these add up to beyond the whole: weights that the first and the last share.
  BlockPrice twice{};
  int64_t context_bytes = 0;  // beside the allocator

  // Of one stage's blocks; temporaries are the largest of them, all else is added up.
  BlockPrice stage(int64_t stage, int64_t stages) const;
};

class BlockPrices {
 public:
  // Of the request's model; `blocks`: repeated ones that it has.
  BlockPrices(const Request& request, const Hwdb& hwdb, int64_t blocks);

  // Prices the network whole, and single blocks of it where one can be a stage: fewer than three
  // blocks, or what cannot be cut, are priced as one. To be called first, with settings of one
  // rank. Errors of estimate() where it cannot be priced at all.
  Result<void> begin(const BlockSettings& settings);
  int64_t blocks() const { return blocks_; }
  int64_t batch() const { return batch_; }  // the model's own, where the request says none

  // Whether larger micro-batches of the same settings are of interest; called on any thread.
  using GoesOn = std::function<bool(const BlockSettings& settings, const NetworkPrice& price)>;
  // Prices what is not known yet, on so many threads: of settings that differ only in their
  // micro-batch the smallest first, as long as `goes_on` says so. Cost: a block is compiled three
  // times for each way to split it, and estimated three times for each micro-batch; where blocks at
  // both ends share weights, one estimate of the whole network for each way to split operators.
  void add(std::span<const BlockSettings> wanted, size_t threads, const GoesOn& goes_on = {});
  // Null where the ordinary estimate refuses it: see refusals().
  const NetworkPrice* find(const BlockSettings& settings) const;
  const std::map<std::string, std::string>& refusals() const { return refusals_; }

 private:
  // How operators are split between ranks.
  struct Split {
    int64_t tensor = 1;
    bool sequence_parallel = false;
    auto operator<=>(const Split&) const = default;
  };

  // Of one way to split and fill a block, by micro-batch; the last one may be an error.
  using Priced = std::vector<std::pair<BlockSettings, Result<NetworkPrice>>>;

  void add_splits(std::span<const BlockSettings> wanted, size_t threads);
  Result<BlockPrice> beyond_whole(const BlockSettings& settings) const;
  Priced price_all(std::span<const BlockSettings> wanted, const GoesOn& goes_on,
                   ModelCache& models) const;
  Result<NetworkPrice> price(const BlockSettings& settings, ModelCache& models) const;
  Result<int64_t> experts_of(const BlockSettings& settings, const BlockPrice& middle,
                             ModelCache& models) const;
  void note(const BlockSettings& settings, const Diagnostics& why);

  Request request_;
  const Hwdb& hwdb_;
  int64_t blocks_, batch_ = 1;
  bool ends_share_ = false;  // weights
  std::map<Split, BlockPrice> twice_;
  std::map<BlockSettings, NetworkPrice> known_;
  std::map<std::string, std::string> refusals_;  // messages, each by the first settings it is of
};

}  // namespace plimsoll
